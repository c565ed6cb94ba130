package editor

import (
	"strings"
	"testing"
)

// The mark | is the place of the mouse.
func TestDescribe(t *testing.T) {
	t.Parallel()
	w := open(t, map[string]string{"roles.yaml": stored})
	const head = "apiVersion: breakglass.t-caas.telekom.com/v1alpha1\nkind: DenyPolicy\nspec:\n"
	for _, test := range []struct{ name, text, want string }{
		{"a name", head + "  prec|edence: 1\n", "Policies with a lower number"},
		{"the begin of a name", head + "  |precedence: 1\n", "Policies with a lower number"},
		{"a value", head + "  precedence: 1|0\n", "Policies with a lower number"},
		{"an item", head + "  rules:\n  - verbs: [g|et]\n", "Verbs as Kubernetes has them"},
		{"a field of an item in braces", head + "  rules:\n  - {verbs: [get], resour|ces: [secrets]}\n", "Resources in the plural"},
		{"an item of lines", head + "  rules:\n  - resources:\n    - se|crets\n", "Resources in the plural"},
		{"an unknown field", head + "  preced|ance: 1\n", ""},
		{"another kind", "kind: Deployment\napiVersion: apps/v1\nspec:\n  repl|icas: 1\n", ""},
	} {
		before, rest, _ := strings.Cut(test.text, "|")
		lines := strings.Split(before, "\n")
		got := w.Describe(before+rest, len(lines), len([]rune(lines[len(lines)-1])))
		if test.want == "" && got != "" || !strings.HasPrefix(got, test.want) {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}
