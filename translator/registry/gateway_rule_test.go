package registry_test

import (
	"encoding/json"
	"testing"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/gateway/document"
	"github.com/writ-policy/writ/translator/registry"
	"github.com/writ-policy/writ/translator/syntax"
)

// in is a place in the document of policyOf.
func in(line, column int) diag.Position {
	return diag.Position{File: "p.yaml", Line: line, Column: column}
}

func at(value string, line, column int) *syntax.Text {
	return &syntax.Text{Value: value, At: in(line, column)}
}

// The meanings of rules, one rule a row. The rule begins on line 6.
func TestMeanings(t *testing.T) {
	tests := []struct {
		name, spec, key string
		want            any
	}{
		{
			name: "anonymous", key: "rules.authentication.a",
			spec: "  rules: {authentication: {a: {anonymous: {}, priority: 2,\n    when: [{predicate: 'true'}]}}}\n",
			want: &document.Authentication{
				Method: "anonymous", Anonymous: true, Priority: 2,
				When: []document.Condition{{At: in(7, 12), Predicate: at("true", 7, 13)}},
			},
		},
		{
			name: "metadata", key: "rules.metadata.a", spec: "  rules: {metadata: {a: {http: {url: https://a}}}}\n",
			want: &document.Metadata{Method: "http"},
		},
		{
			name: "conditions", key: "when",
			spec: "  rules: {authentication: {a: {apiKey: {}}}}\n  when:\n  - {selector: route.b, operator: neq, value: c}\n  - {all: []}\n  - any: [{patternRef: p}]\n",
			want: &document.When{Conditions: []document.Condition{
				{At: in(8, 5), Selector: "route.b", Operator: "neq", Value: "c"},
				{At: in(9, 5), All: []document.Condition{}},
				{At: in(10, 5), Any: []document.Condition{{At: in(10, 11), PatternRef: at("p", 10, 24)}}},
			}},
		},
		{
			name: "pattern", key: "patterns.p",
			spec: "  rules: {authentication: {a: {apiKey: {}}}}\n  patterns: {p: {allOf: [{selector: route, operator: eq}]}}\n",
			want: &document.Pattern{AllOf: []document.Condition{{At: in(7, 26), Selector: "route", Operator: "eq"}}},
		},
		{
			name: "pattern matching", key: "rules.authorization.a", spec: "  rules: {authorization: {a: {patternMatching: {patterns: []}}}}\n",
			want: &document.Authorization{Patterns: &[]document.Condition{}},
		},
		{
			name: "Rego", key: "rules.authorization.a",
			spec: "  rules: {authorization: {a: {opa: {allValues: true,\n    rego: allow if true}}}}\n",
			want: &document.Authorization{Rego: &document.RegoBody{At: in(7, 5), Source: "allow if true\n", Allows: true, AllValues: true}},
		},
		{
			name: "review of a resource", key: "rules.authorization.a",
			spec: "  rules: {authorization: {a: {kubernetesSubjectAccessReview: {user: {selector: route}, groups: [g],\n    authorizationGroups: {expression: request.x}, resourceAttributes: {verb: {value: get}}}}}}\n",
			want: &document.Authorization{Review: &document.AccessReview{
				User:                &document.Value{At: in(6, 63), Selector: at("route", 6, 80)},
				Groups:              []string{"g"},
				AuthorizationGroups: &document.Value{At: in(7, 5), Expression: at("request.x", 7, 27)},
				Resource:            &document.ResourceAttributes{Verb: &document.Value{At: in(7, 72), Value: "get"}},
			}},
		},
		{
			name: "review of a path", key: "rules.authorization.a", spec: "  rules: {authorization: {a: {kubernetesSubjectAccessReview: {}}}}\n",
			want: &document.Authorization{Review: &document.AccessReview{}},
		},
		{
			name: "denial", key: "rules.response.unauthorized",
			spec: "  rules: {response: {unauthorized: {code: 302, headers: {a: {value: [1]}},\n    message: {value: m}, body: {}}}}\n",
			want: &document.Denial{
				Code: 302, Headers: map[string]document.Value{"a": {At: in(6, 58), Value: []any{json.Number("1")}}},
				Message: &document.Value{At: in(7, 5), Value: "m"}, Body: &document.Value{At: in(7, 26)},
			},
		},
		{
			name: "plain item", key: "rules.response.success.headers.a",
			spec: "  rules: {response: {success: {headers: {a: {key: k, plain: {value: v}}}}}}\n",
			want: &document.SuccessItem{Key: "k", Method: "plain", Plain: &document.Value{At: in(6, 54), Value: "v"}},
		},
		{
			name: "JSON item", key: "rules.response.success.filters.a",
			spec: "  rules: {response: {success: {filters: {a: {json: {properties: {p: {value: 1.50}}}}}}}}\n",
			want: &document.SuccessItem{Method: "json", Properties: map[string]document.Value{"p": {At: in(6, 66), Value: json.Number("1.50")}}},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, r := range policyOf(t, test.spec).Blocks[0].Rules {
				if r.Key == test.key {
					same(t, "meaning", r.Meaning, test.want)
					return
				}
			}
			t.Errorf("no rule %s", test.key)
		})
	}
}

// A document with mistakes still has its identity, and rules of their types.
func TestPolicyWithMistakes(t *testing.T) {
	documents, list := registry.Decode("p.yaml", []byte(`
apiVersion: kuadrant.io/v1
kind: AuthPolicy
metadata: {name: p}
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: GRPCRoute, name: api}
  rules: {authorization: {a: {opa: {rego: "allow if"}}}}
`))
	same(t, "errors", list.HasErrors(), true)
	p := one[*document.InheritedPolicy](t, documents)
	same(t, "kind of the target", p.Target.Kind, "")
	same(t, "meaning", p.Blocks[0].Rules[0].Meaning, any(&document.Authorization{Patterns: &[]document.Condition{}}))
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
			documents, list := registry.Decode("p.yaml", []byte("{apiVersion: kuadrant.io/v1, kind: AuthPolicy, metadata: {name: p}, spec: {targetRef: "+
				"{group: gateway.networking.k8s.io, kind: Gateway, name: g}, rules: {authorization: {a: {opa: {rego: "+string(quoted)+"}}}}}}"))
			same(t, "errors", list.HasErrors(), false)
			p := one[*document.InheritedPolicy](t, documents)
			same(t, "source", p.Blocks[0].Rules[0].Meaning.(*document.Authorization).Rego.Source, test.want)
		})
	}
}
