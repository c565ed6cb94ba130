package gateway

import (
	"maps"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/writ-policy/writ/translator/tables"
)

func TestGatewayRulesAreRego(t *testing.T) {
	authorization := func(a tables.GatewayAuthorization) tables.GatewayRule { return tables.GatewayRule{Authorization: &a} }
	for name, rule := range map[string]tables.GatewayRule{
		"authentication": {Authentication: &tables.GatewayAuthentication{}},
		"metadata":       {Metadata: &tables.GatewayMetadata{}},
		"patterns":       authorization(tables.GatewayAuthorization{Patterns: &[]tables.RequestCondition{}}),
		"rego":           authorization(tables.GatewayAuthorization{Rego: &tables.RegoBody{Source: "allow := true\n", Allows: true}}),
		"no allow":       authorization(tables.GatewayAuthorization{Rego: &tables.RegoBody{Source: "# nothing\n", AllValues: true}}),
		"all values":     authorization(tables.GatewayAuthorization{Rego: &tables.RegoBody{Source: "allow := true\n", Allows: true, AllValues: true}}),
		"review":         authorization(tables.GatewayAuthorization{Review: &tables.AccessReview{Groups: []string{"a"}}}),
		"review of resources": authorization(tables.GatewayAuthorization{Review: &tables.AccessReview{
			Resource: &tables.ResourceAttributes{},
		}}),
		"denial":    {Denial: &tables.GatewayDenial{Code: 302, Headers: map[string]tables.RequestValue{}}},
		"json":      {Item: &tables.GatewayItem{Properties: map[string]tables.RequestValue{}}},
		"wristband": {Item: &tables.GatewayItem{}},
		"pattern":   {Pattern: &tables.GatewayPattern{}},
		"when":      {},
	} {
		m := newGatewayModule("AuthPolicy/n/p")
		m.policyRule(&tables.NamedRule{Name: name, Key: "rules.x." + name, Source: "a.yaml:1", Rule: &rule})
		files := map[string][]byte{"policy": m.file()}
		maps.Copy(files, m.bodies)
		for path, text := range files {
			if _, err := ast.ParseModuleWithOpts(path, string(text), ast.ParserOptions{RegoVersion: ast.RegoV1}); err != nil {
				t.Errorf("%s: %v\n%s", name, err, text)
			}
		}
	}
}

// A rule whose own name looks like the number of another has a name of its own.
func TestRuleNamesAreDistinct(t *testing.T) {
	n := &ruleNames{byRule: make(map[*tables.GatewayRule]*tables.NamedRule), used: make(map[string]bool)}
	seen := make(map[string]bool)
	for _, key := range []string{"rules.authorization.a", "rules.authorization.a", "rules.authorization.a 2", "rules.authorization.a"} {
		name := n.named(&tables.EffectiveRule{Policy: "AuthPolicy/n/p", Key: key}, &tables.GatewayRule{}).Name
		if seen[name] {
			t.Errorf("two rules have the name %q", name)
		}
		seen[name] = true
	}
}
