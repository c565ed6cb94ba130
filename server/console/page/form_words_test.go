package page

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
)

// A request about groups alone, as cells of a matrix and witnesses have it, is one when it is
// asked again by its address.
func TestGroupsAloneAreARequest(t *testing.T) {
	u, err := url.Parse(askHref("access", json.RawMessage(`{"user":"","groups":["platform"],"verb":"get","resource":"pods"}`)))
	if err != nil {
		t.Fatal(err)
	}
	asked := accessForm.read(u.Query(), nil)
	if got, want := string(asked.request), `{"groups":["platform"],"resource":"pods","user":"","verb":"get"}`; got != want {
		t.Errorf("the request is %s, want %s", got, want)
	}
	if empty := accessForm.read(url.Values{}, nil); empty.request != nil {
		t.Errorf("an empty form asks %s", empty.request)
	}
}

// A form has fields, not keys.
func TestMessagesAreInWordsOfForms(t *testing.T) {
	for message, want := range map[string]string{
		`key "verb" must be a string that is not empty`: "Verb is required",
		`key "user" is missing`:                         "Verb is required",
		`key "labels" must be an object`:                "Verb must be an object",
		"something else":                                "something else",
	} {
		if got := inWordsOfForms(message, "Verb"); got != want {
			t.Errorf("%q: got %q, want %q", message, got, want)
		}
	}
}

// The view of a subject links to the form with that subject: the reader has not asked yet.
func TestFormOfASubjectIsNotAMistake(t *testing.T) {
	h := New(options(t))
	for target, want := range map[string]int{
		"/page/ask?user=ada&groups=dev": 200, "/page/ask?groups=dev": 200, "/page/ask?user=ada&resource=pods": 400,
	} {
		w := get(h, target)
		if isRefused := strings.Contains(w.Body.String(), "Verb is required"); w.Code != want || isRefused != (want == 400) {
			t.Errorf("%s: got %d, want %d; a field is refused: %v", target, w.Code, want, isRefused)
		}
		if want == 200 && !strings.Contains(w.Body.String(), "press Ask") {
			t.Errorf("%s: the view does not say how to ask", target)
		}
	}
}

// The time of a question is written as times of documents are: no other form is accepted.
func TestTimeOfAQuestion(t *testing.T) {
	h := New(options(t))
	for at, want := range map[string]int{
		"2026-11-22T09:00:00Z": 200, "2026-11-22T10:00:00.5+01:00": 200, "2026-11-22T9:00:00Z": 400, "2026-11-22T09:00:00,5Z": 400, "2026-11-22": 400, "now": 400,
	} {
		w := get(h, "/page/ask?user=ada&verb=get&resource=pods&at="+url.QueryEscape(at))
		if w.Code != want || strings.Contains(w.Body.String(), "at must be an RFC 3339 time such as 2026-01-20T10:00:00Z") != (want == 400) {
			t.Errorf("%s: got %d, want %d", at, w.Code, want)
		}
	}
}
