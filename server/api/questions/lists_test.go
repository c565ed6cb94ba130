package questions_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/writ-policy/writ/server/decision"
)

// TestLists wants the namespaces of the caller for every caller, and those of others for
// auditors alone.
func TestLists(t *testing.T) {
	for _, row := range []struct {
		name, token, address string
		status               int
		want                 string // in the body
	}{
		{"of the caller", "t-a", "pods?verb=get", 200, `"items":[{"namespace":"lab","names":"*"},{"namespace":"shop","names":"*"}],"others":{"kind":"always"},"total":2,"next":null,"until":null`},
		{"the question", "t-a", "pods?verb=get", 200, `{"question":{"user":"a","groups":["dev"],"verb":"get","apiGroup":"","resource":"pods","cluster":""},"universe":"documents","clusterScoped":true,`},
		{"list is the verb", "t-a", "pods", 200, `"items":[],"others":{"kind":"never"},"total":0`},
		{"about another user", "t-a", "pods?user=b", 403, "only auditors"},
		{"about a group", "t-a", "pods?group=dev", 403, "only auditors"},
		{"an auditor about another user", "t-auditor", "pods?verb=get&user=b", 200, `"user":"b","groups":[]`},
		{"an auditor about a group", "t-auditor", "pods?verb=get&group=dev&group=x", 200, `"user":"","groups":["dev","x"]`},
		{"names that a pattern denies", "t-auditor", "configmaps?verb=get&user=b", 200, `"names":{"kind":"conditional","untranslatable":[{"construct":"glob-class"`},
		{"without credentials", "", "pods", 401, "the server can authenticate"},
		{"without a subject", "t-auditor", "pods?user=", 400, `"field":"user"`},
		{"no verb", "t-a", "pods?verb=", 400, `"field":"verb"`},
		{"an API group in the resource", "t-a", "deployments.apps", 200, `"apiGroup":"apps","resource":"deployments"`},
		{"two API groups", "t-a", "deployments.apps?apiGroup=x", 400, `"field":"apiGroup"`},
		{"an unknown parameter", "t-a", "pods?usr=b", 400, `unknown parameter \"usr\"`},
		{"twice", "t-a", "pods?verb=get&verb=list", 400, `"field":"verb"`},
		{"a limit above the largest", "t-a", "pods?limit=5001", 400, `"field":"limit"`},
		{"a limit of none", "t-a", "pods?limit=0", 400, `"field":"limit"`},
		{"labels without a cluster", "t-a", "pods?labelSelector=a", 400, `"field":"labelSelector"`},
		{"a malformed selector", "t-a", "pods?labelSelector=" + url.QueryEscape("a in (b"), 400, `"field":"labelSelector"`},
		{"a cursor of nothing", "t-a", "pods?cursor=eA", 410, `"code":"expired_cursor"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			code, body := list(open(t, 0), row.token, row.address)
			if code != row.status || !strings.Contains(body, row.want) || !json.Valid([]byte(body)) {
				t.Errorf("got %d %s, want %d with %s", code, body, row.status, row.want)
			}
		})
	}
	if code, body := list(open(t, 40), "t-a", "pods?verb=get"); code != 413 {
		t.Errorf("got %d %s for an answer that is too large, want 413", code, body)
	}
}

func list(h http.Handler, token, address string) (int, string) {
	w := listWith(h, token, address, nil)
	return w.Code, w.Body.String()
}

func listWith(h http.Handler, token, address string, header map[string]string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "http://localhost/v1/lists/"+address, nil)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for key, value := range header {
		r.Header.Set(key, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// laterRevision is active after the first page of a list.
type laterRevision struct{ decision.Policies }

func (laterRevision) Loaded() *decision.Loaded {
	return &decision.Loaded{Revision: "later", Sequence: 7}
}
func (l laterRevision) AtNow() decision.Policies { return l }

// All pages of a list are of one revision, which they name, and which must meet what a request
// requires.
func TestPagesOfARevision(t *testing.T) {
	isLater := false
	h := openAs(t, 0, func(e decision.Policies) decision.Policies {
		if isLater {
			return laterRevision{e}
		}
		return e
	})
	const first = "pods?verb=get&limit=1"
	var page struct{ Revision, Next string }
	if err := json.Unmarshal(listWith(h, "t-a", first, nil).Body.Bytes(), &page); err != nil || page.Next == "" {
		t.Fatal(err, page)
	}
	isLater = true
	next := first + "&cursor=" + page.Next
	for _, row := range []struct {
		address, header, value string
		code                   int
		revision               string
	}{
		{next, "", "", 200, page.Revision},
		{next, "Writ-Revision", page.Revision, 200, page.Revision},
		{next, "Writ-Revision", "later", 412, page.Revision},
		{next, "Writ-Min-Sequence", "0", 200, page.Revision},
		{next, "Writ-Min-Sequence", "7", 412, page.Revision},
		{first, "Writ-Min-Sequence", "7", 200, "later"},
		{first, "Writ-Revision", page.Revision, 412, "later"},
		{first + "&cursor=eA", "Writ-Revision", "later", 410, "later"},
	} {
		got := listWith(h, "t-a", row.address, map[string]string{row.header: row.value})
		if got.Code != row.code || got.Header().Get("Writ-Revision") != row.revision || row.code == 200 && !strings.Contains(got.Body.String(), `"revision":"`+row.revision) {
			t.Errorf("%s with %s %s: got %d %v %s, want %d of %s", row.address, row.header, row.value, got.Code, got.Header(), got.Body, row.code, row.revision)
		}
	}
}
