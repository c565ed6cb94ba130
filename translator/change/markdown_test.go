package change_test

import (
	"strings"
	"testing"

	"github.com/writ-policy/writ/translator/change"
)

// Markdown is read in a row of a table and not in a summary, which is an HTML element.
func TestNamesAreEscaped(t *testing.T) {
	report := change.Report{
		Classes: []change.Class{{ID: "1", Changes: []string{"gain"}}},
		Groups:  []change.Group{{Change: "gain", Title: "group *<b>*: get pods with name a_b", Classes: []string{"1"}}},
	}
	got := report.Markdown(1)
	for _, want := range []string{
		`| **gain** | group \*&lt;b&gt;\* | get pods | name a\_b |`,
		`<summary>group *&lt;b&gt;* may: get pods with name a_b</summary>`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s\nwant %s in it", got, want)
		}
	}
}
