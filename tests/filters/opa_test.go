package filters

import (
	"math/rand/v2"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/rego/compile"

	"github.com/writ-policy/writ/server/decision"
)

// OPA's own compiler makes conditions of rules that are written for it: for prefixes,
// suffixes, lists and inline negation they select the same rows as filters of the policies
// that mean the same.
func TestOPACompiler(t *testing.T) {
	names := func(allowed, denied []string) map[string]any {
		return map[string]any{"names": map[string]any{"allowed": allowed, "denied": denied}}
	}
	for _, row := range []struct {
		name, rule string
		filters    map[string]any
	}{
		{"a list", `input.items.name in ["a", "b", "é"]`, names([]string{"a", "b", "é"}, nil)},
		{"a prefix", `startswith(input.items.name, "a")`, names([]string{"a*"}, nil)},
		{"a suffix", `endswith(input.items.name, "b")`, names([]string{"*b"}, nil)},
		{"a part", `contains(input.items.name, "%")`, names([]string{"*%*"}, nil)},
		{"not one", "startswith(input.items.name, \"a\")\n\tinput.items.name != \"ab\"", names([]string{"a*"}, []string{"ab"})},
		{"not a prefix", "contains(input.items.name, \"b\")\n\tnot startswith(input.items.name, \"a\")", names([]string{"*b*"}, []string{"a*"})},
		{"a namespace as well", "startswith(input.items.name, \"a\")\n\tinput.items.namespace in [\"web\", \"a\"]", map[string]any{
			"names": map[string]any{"allowed": []string{"a*"}}, "namespaces": map[string]any{"allowed": []string{"web", "a"}},
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			prepared, err := compile.New(
				compile.Target("ucast", "all"), compile.ParsedUnknowns(ast.MustParseTerm("input.items")), compile.ParsedQuery(ast.MustParseBody("data.p.include")),
				compile.Rego(rego.Module("p.rego", "package p\n\ninclude if {\n\t"+row.rule+"\n}\n")),
			).Prepare(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			theirs, err := prepared.Compile(t.Context(), rego.EvalInput(map[string]any{}))
			if err != nil {
				t.Fatal(err)
			}
			p := activate(t, []map[string]any{policyOf([]any{map[string]any{"type": "pods", "visibility": "filtered", "filters": row.filters}})})
			question := map[string]any{
				"request": map[string]any{"user": "u", "cluster": map[string]any{"name": "c"}, "type": "pods"},
				"columns": map[string]any{"name": []string{"items", "name"}, "namespace": []string{"items", "namespace"}},
			}
			ours, refused := answer(t, p, decision.Visibility, "ucast+all", question)
			if refused != nil {
				t.Fatal(refused)
			}
			d := draw{rand.New(rand.NewPCG(7, 7))}
			var rows []map[string]any
			for range 500 {
				out, fields := d.row(), map[string]any{}
				for _, key := range []string{"name", "namespace"} {
					if value, ok := out[key]; ok && value != "" {
						fields["items."+key] = value
					}
				}
				rows = append(rows, fields)
			}
			got, want := selectedBy(t, nodeOf(t, ours.Query), rows, true), selectedBy(t, nodeOf(t, theirs.One().Query), rows, true)
			if problem := differs(got, want); problem != "" || len(want) == 0 {
				t.Errorf("%s\nours %s\ntheirs %s", problem, encode(ours.Query), encode(theirs.One().Query))
			}
		})
	}
}
