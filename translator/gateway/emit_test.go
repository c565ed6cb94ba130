package gateway

import (
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/writ-policy/writ/translator/gateway/document"
	"github.com/writ-policy/writ/translator/tables"
)

func TestGatewayRulesAreRego(t *testing.T) {
	for name, meaning := range map[string]any{
		"authentication": &document.Authentication{},
		"metadata":       &document.Metadata{},
		"patterns":       &document.Authorization{Patterns: &[]document.Condition{}},
		"rego":           &document.Authorization{Rego: &document.RegoBody{Source: "allow := true\n", Allows: true}},
		"no allow":       &document.Authorization{Rego: &document.RegoBody{Source: "# nothing\n", AllValues: true}},
		"all values":     &document.Authorization{Rego: &document.RegoBody{Source: "allow := true\n", Allows: true, AllValues: true}},
		"review":         &document.Authorization{Review: &document.AccessReview{Groups: []string{"a"}}},
		"review of resources": &document.Authorization{Review: &document.AccessReview{
			Resource: &document.ResourceAttributes{},
		}},
		"denial":    &document.Denial{Code: 302, Headers: map[string]document.Value{}},
		"json":      &document.SuccessItem{Method: "json"},
		"wristband": &document.SuccessItem{Method: "wristband"},
		"pattern":   &document.Pattern{},
		"when":      &document.When{},
	} {
		m := newGatewayModule("AuthPolicy/n/p")
		m.policyRule(namedRule{id: name, rule: &tables.EffectiveRule{Key: "rules.x." + name, Source: "a.yaml:1", Meaning: meaning}})
		files := map[string][]byte{"policy": m.file()}
		for path, body := range m.bodies {
			files[path] = body
		}
		for path, text := range files {
			if _, err := ast.ParseModuleWithOpts(path, string(text), ast.ParserOptions{RegoVersion: ast.RegoV1}); err != nil {
				t.Errorf("%s: %v\n%s", name, err, text)
			}
		}
	}
}

// A rule whose own name looks like the number of another has a name of its own.
func TestRuleNamesAreDistinct(t *testing.T) {
	g := &gatewayEmitter{ids: make(map[any]string), used: make(map[string]bool)}
	seen := make(map[string]bool)
	for _, key := range []string{"rules.authorization.a", "rules.authorization.a", "rules.authorization.a 2", "rules.authorization.a"} {
		id := g.ruleName(&tables.EffectiveRule{Policy: "AuthPolicy/n/p", Key: key, Meaning: &document.Authorization{}})
		if seen[id] {
			t.Errorf("two rules have the name %q", id)
		}
		seen[id] = true
	}
}
