package answers

import (
	"strings"
	"testing"
)

// A rule is marked to its end, and not the rules after it.
func TestLastOf(t *testing.T) {
	for name, row := range map[string]struct {
		text       string
		line, want int
	}{
		"an indented rule":                     {"rules:\n  - verbs: [get]\n    resources: [pods]\n  - verbs: [list]", 2, 3},
		"a rule that is not indented":          {"rules:\n- verbs: [get]\n  resources: [pods]\n- verbs: [list]", 2, 3},
		"a rule before a key":                  {"rules:\n- verbs: [get]\n  resources: [pods]\nother: x", 2, 3},
		"a document, without the next one":     {"kind: Role\nrules:\n- verbs: [get]\n\n---\nkind: Role", 1, 3},
		"the last rule, without what is blank": {"rules:\n- verbs: [get]\n  resources: [pods]\n\n", 2, 3},
	} {
		if got := lastOf(strings.Split(row.text, "\n"), row.line); got != row.want {
			t.Errorf("%s: got line %d, want %d", name, got, row.want)
		}
	}
}
