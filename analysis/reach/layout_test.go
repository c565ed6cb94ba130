package reach_test

import (
	"strings"
	"testing"

	"github.com/writ-policy/writ/analysis/reach"
	"github.com/writ-policy/writ/tests/revisions"
)

// A hop has its result on its line, in one column with the others, and no line is wider than a
// terminal.
func TestTextFitsATerminal(t *testing.T) {
	documents := grantedTo(t, shop, "u", "", makePods)
	o := options(t, documents, revisions.Of(t, texts(t, documents)))
	o.From, o.To, o.MaxChanges = []string{"user:u"}, []string{account("shop", "robot")}, 3
	report, err := reach.Find(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	long := &report.Paths[0].Hops[0].Grants[0]
	long.Name = strings.Repeat("long-", 8) + "name"
	text := report.Text()
	column := 0
	for line := range strings.Lines(text) {
		if len(line) > 81 {
			t.Errorf("wider than 80: %q", line)
		}
		if strings.HasPrefix(line, "  1  ") || strings.HasPrefix(line, "  3  ") {
			at := max(strings.Index(line, "   removes "), strings.Index(line, "   becomes "))
			if at < 0 || column > 0 && at != column {
				t.Errorf("result not in its column: %q", line)
			}
			column = at
		}
	}
	if column == 0 {
		t.Errorf("no hop in\n%s", text)
	}
}
