package cel

import (
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
)

// FuzzCompile wants any text to be a problem within it, or Rego that compiles.
func FuzzCompile(f *testing.F) {
	for _, text := range []string{
		"request.method == 'GET'", "auth.identity.groups.exists(g, g == 'a') ? 1 : 2", "{'a': [1, 2.0]}.a[0] % 2",
		"\n\n 'ä' + nix", "!!has(request.a.b) || -1 < request.size", "timestamp('2024-01-01T00:00:00Z').getHours('+02:00')",
		"request[?'a']", "'\\u2028' in ['\\x00', \"\"\"\n\"\"\"]", "request.if.else", "[].map(x, x, x).filter(x, x)", "true && false",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, problem := range []*Problem{CheckMerge(text), CheckAccess(text), CheckPredicate(text)} {
			if problem != nil && (problem.Line < 1 || problem.Column < 1 || problem.Message == "") {
				t.Errorf("got %+v, want a place and a message", problem)
			}
		}
		p, problem := ask(text, Gateway)
		if problem != nil {
			return
		}
		module := "package probe\n\n" + p.expression.Rego("a")
		if p.condition != nil {
			module += "\n" + p.condition.Rego("b")
		}
		if _, err := ast.ParseModule("", module); err != nil {
			t.Errorf("%v in\n%s", err, module)
		}
		if _, _, err := compileAll([]asked{p}); err != nil {
			t.Errorf("%v in\n%s", err, module)
		}
	})
}
