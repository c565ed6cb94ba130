package page

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/writ-policy/writ/server/console"
)

// A request that is too long is not recorded, and some points have no form: their entries have no
// link that would lead to an empty form, or nowhere.
func TestRequestsWithoutAFormHaveNoLink(t *testing.T) {
	entries := entriesOf([]console.Entry{
		{Point: "access", Outcome: console.Deny, Request: json.RawMessage("null")},
		{Point: "shop/list", Outcome: console.Deny, Request: json.RawMessage(`{"a":1}`)},
		{Point: "access", Outcome: console.Deny, Request: json.RawMessage(`{"user":"eve","verb":"get","resource":"pods"}`)},
	})
	for i, want := range []string{"", "", "/page/ask?resource=pods&user=eve&verb=get"} {
		if entries[i].Ask != want {
			t.Errorf("%d: got %q, want %q", i, entries[i].Ask, want)
		}
	}
	var shown strings.Builder
	if err := (&overviewContent{Denied: entries}).denied().Render(&shown); err != nil {
		t.Fatal(err)
	}
	if got := shown.String(); strings.Contains(got, `href="#"`) || strings.Count(got, "<a ") != 1 {
		t.Errorf("got %s", got)
	}
}

// A request that is asked again without its pod may get another answer: the log says so.
func TestRequestsWithoutTheirPod(t *testing.T) {
	const request = `{"user":"eve","verb":"create","resource":"pods","subresource":"exec"}`
	for _, without := range []bool{false, true} {
		var shown strings.Builder
		list := entriesOf([]console.Entry{{Point: "access", Outcome: console.Deny, Request: json.RawMessage(request), WithoutPod: without}})
		if err := list[0].html().Render(&shown); err != nil {
			t.Fatal(err)
		}
		if got := shown.String(); strings.Contains(got, "without its pod") != without {
			t.Errorf("without a pod %v: got %s", without, got)
		}
	}
}
