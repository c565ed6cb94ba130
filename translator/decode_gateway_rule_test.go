package translator_test

import (
	"encoding/json"
	"testing"

	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/gateway/document"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// path is a path of names.
func path(steps ...string) tables.SelectorPath { return tables.SelectorPath{Steps: steps} }

// What the gateway point reads of rules, one rule a row. The rule begins on line 6.
func TestGatewayRules(t *testing.T) {
	tests := []struct {
		name, spec, key string
		want            tables.GatewayRule
	}{
		{
			name: "anonymous", key: "rules.authentication.a",
			spec: "  rules: {authentication: {a: {anonymous: {}, priority: 2,\n    when: [{predicate: 'true'}]}}}\n",
			want: tables.GatewayRule{
				Authentication: &tables.GatewayAuthentication{Anonymous: true}, Priority: 2,
				When: []tables.RequestCondition{{Predicate: "true"}},
			},
		},
		{
			name: "metadata", key: "rules.metadata.a", spec: "  rules: {metadata: {a: {http: {url: https://a}}}}\n",
			want: tables.GatewayRule{Metadata: &tables.GatewayMetadata{}},
		},
		{
			name: "conditions", key: "when",
			spec: "  rules: {authentication: {a: {apiKey: {}}}}\n  when:\n  - {selector: route.b, operator: neq, value: c}\n  - {all: []}\n  - any: [{patternRef: p}]\n",
			want: tables.GatewayRule{When: []tables.RequestCondition{
				{Comparison: &tables.Comparison{Path: path("route", "b"), Operator: "neq", Value: "c"}},
				{All: []tables.RequestCondition{}},
				{Any: []tables.RequestCondition{{Pattern: "p"}}},
			}},
		},
		{
			name: "pattern", key: "patterns.p",
			spec: "  rules: {authentication: {a: {apiKey: {}}}}\n  patterns: {p: {allOf: [{selector: route, operator: eq}]}}\n",
			want: tables.GatewayRule{Pattern: &tables.GatewayPattern{AllOf: []tables.RequestCondition{
				{Comparison: &tables.Comparison{Path: path("route"), Operator: "eq"}},
			}}},
		},
		{
			name: "pattern matching", key: "rules.authorization.a", spec: "  rules: {authorization: {a: {patternMatching: {patterns: []}}}}\n",
			want: tables.GatewayRule{Authorization: &tables.GatewayAuthorization{Patterns: &[]tables.RequestCondition{}}},
		},
		{
			name: "Rego", key: "rules.authorization.a",
			spec: "  rules: {authorization: {a: {opa: {allValues: true,\n    rego: allow if true}}}}\n",
			want: tables.GatewayRule{Authorization: &tables.GatewayAuthorization{
				Rego: &tables.RegoBody{Source: "allow if true\n", Allows: true, AllValues: true},
			}},
		},
		{
			name: "review of a resource", key: "rules.authorization.a",
			spec: "  rules: {authorization: {a: {kubernetesSubjectAccessReview: {user: {selector: '{route}/b'}, groups: [g],\n    authorizationGroups: {expression: request.x}, resourceAttributes: {verb: {value: get}}}}}}\n",
			want: tables.GatewayRule{Authorization: &tables.GatewayAuthorization{Review: &tables.AccessReview{
				User: &tables.RequestValue{Template: &tables.Template{
					Pieces: []tables.TemplatePiece{{Path: &tables.SelectorPath{Steps: []string{"route"}}}, {Text: "/b"}},
				}},
				Groups:              []string{"g"},
				AuthorizationGroups: &tables.RequestValue{Expression: "request.x"},
				Resource:            &tables.ResourceAttributes{Verb: &tables.RequestValue{Value: "get"}},
			}}},
		},
		{
			name: "review of a path", key: "rules.authorization.a", spec: "  rules: {authorization: {a: {kubernetesSubjectAccessReview: {}}}}\n",
			want: tables.GatewayRule{Authorization: &tables.GatewayAuthorization{Review: &tables.AccessReview{}}},
		},
		{
			name: "denial", key: "rules.response.unauthorized",
			spec: "  rules: {response: {unauthorized: {code: 302, headers: {a: {value: [1]}},\n    message: {value: m}, body: {}}}}\n",
			want: tables.GatewayRule{Denial: &tables.GatewayDenial{
				Code: 302, Headers: map[string]tables.RequestValue{"a": {Value: []any{json.Number("1")}}},
				Message: &tables.RequestValue{Value: "m"}, Body: &tables.RequestValue{},
			}},
		},
		{
			name: "plain item", key: "rules.response.success.headers.a",
			spec: "  rules: {response: {success: {headers: {a: {key: k, plain: {value: v}}}}}}\n",
			want: tables.GatewayRule{Item: &tables.GatewayItem{Header: true, Key: "k", Plain: &tables.RequestValue{Value: "v"}}},
		},
		{
			name: "JSON item", key: "rules.response.success.filters.a",
			spec: "  rules: {response: {success: {filters: {a: {json: {properties: {p: {value: 1.50}}}}}}}}\n",
			want: tables.GatewayRule{Item: &tables.GatewayItem{
				Key: "a", Properties: map[string]tables.RequestValue{"p": {Value: json.Number("1.50")}},
			}},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, r := range policyOf(t, test.spec).Blocks[0].Rules {
				if r.Key == test.key {
					same(t, "rule", *r.Rule, test.want)
					return
				}
			}
			t.Errorf("no rule %s", test.key)
		})
	}
}

// A document with mistakes still has its identity, and rules of their types.
func TestPolicyWithMistakes(t *testing.T) {
	read := translator.Kinds().Decode("p.yaml", []byte(`
apiVersion: kuadrant.io/v1
kind: AuthPolicy
metadata: {name: p}
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: TCPRoute, name: api}
  rules: {authorization: {a: {opa: {rego: "allow if"}}}}
`), syntax.Options{})
	documents, list := read.Documents, read.List
	same(t, "errors", list.HasErrors(), true)
	p := one[*document.InheritedPolicy](t, documents)
	same(t, "kind of the target", p.Target.Kind, "")
	same(t, "rule", *p.Blocks[0].Rules[0].Rule, tables.GatewayRule{Authorization: &tables.GatewayAuthorization{Patterns: &[]tables.RequestCondition{}}})
}

// The older Rego becomes Rego v1, and comments that say something to OPA vanish.
func TestRegoBody(t *testing.T) {
	tests := []struct{ name, body, want string }{
		{"as written", "import input.auth as a\n\nallow if a.x # why\n", "import input.auth as a\n\nallow if a.x # why\n"},
		{"older", "allow { x }\nx { input.a == `\"` }\ns[y] { y := input.b[_] }", "allow if x\nx if input.a == `\"`\ns contains y if y := input.b[_]\n"},
		{"metadata", "# METADATA\n# entrypoint: true\nallow if input.a == \"# not\" # gone", "\n\nallow if input.a == \"# not\"\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			quoted, err := json.Marshal(test.body)
			if err != nil {
				t.Fatal(err)
			}
			read := translator.Kinds().Decode("p.yaml", []byte("{apiVersion: kuadrant.io/v1, kind: AuthPolicy, metadata: {name: p}, spec: {targetRef: "+
				"{group: gateway.networking.k8s.io, kind: Gateway, name: g}, rules: {authorization: {a: {opa: {rego: "+string(quoted)+"}}}}}}"), syntax.Options{})
			same(t, "errors", read.List.HasErrors(), false)
			p := one[*document.InheritedPolicy](t, read.Documents)
			same(t, "source", p.Blocks[0].Rules[0].Rule.Authorization.Rego.Source, test.want)
		})
	}
}
