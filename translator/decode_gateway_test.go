package translator_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/gateway/document"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

func TestGateway(t *testing.T) {
	g := one[*document.Gateway](t, decode(t, "g.yaml", `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge}
spec:
  listeners:
  - {name: http, port: 80, protocol: HTTP}
  - name: tls
    port: 443
    protocol: HTTPS
    hostname: "*.Example.COM"
    allowedRoutes:
      namespaces: {from: Selector, selector: {matchLabels: {kubernetes.io/metadata.name: books}}}
      kinds: [{kind: HTTPRoute}, {kind: GRPCRoute}, {group: x.io, kind: HTTPRoute}]
`))
	same(t, "identity", g.Family+" "+g.Namespace+"/"+g.Name, "gateway default/edge")
	same(t, "first", g.Listeners[0], document.Listener{
		At: diag.Position{File: "g.yaml", Line: 7, Column: 5}, Name: syntax.Text{Value: "http", At: diag.Position{File: "g.yaml", Line: 7, Column: 12}},
		Port: 80, Protocol: "HTTP", From: "Same",
	})
	second := g.Listeners[1]
	same(t, "hostname", second.Hostname, "*.example.com")
	same(t, "from", second.From, "Selector")
	same(t, "namespaces", second.Namespaces.Requirements, []syntax.Requirement{{Key: "kubernetes.io/metadata.name", Operator: "In", Values: []string{"books"}}})
	same(t, "kinds", second.Kinds, []string{"HTTPRoute", "GRPCRoute", "x.io/HTTPRoute"})
}

func TestHTTPRoute(t *testing.T) {
	r := one[*document.Route](t, decode(t, "r.yaml", `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: api, namespace: books, creationTimestamp: "2024-01-01T01:00:00+01:00"}
spec:
  parentRefs:
  - name: edge
  - {kind: Service, namespace: net, name: s, sectionName: a, port: 80}
  hostnames: [API.example.com]
  rules:
  - name: named
    matches:
    - {}
    - path: {type: Exact, value: /a}
      method: GET
      headers: [{name: X-A, value: A}, {name: x-a, value: ignored}]
      queryParams: [{type: RegularExpression, name: Q, value: "^a"}]
  - backendRefs: [{name: s}]
`))
	same(t, "created", r.Created.Equal(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)), true)
	same(t, "hostnames", r.Hostnames, []string{"api.example.com"})
	item := diag.Position{File: "r.yaml", Line: 7, Column: 5}
	same(t, "first parent", r.Parents[0], document.ParentRef{
		At: item, Kind: syntax.Text{Value: "Gateway", At: item}, Namespace: syntax.Text{Value: "books", At: item},
		Name: syntax.Text{Value: "edge", At: diag.Position{File: "r.yaml", Line: 7, Column: 11}},
	})
	second := r.Parents[1]
	same(t, "second parent", second.Kind.Value+"/"+second.Namespace.Value+"/"+second.Name.Value+"#"+second.Section.Value, "Service/net/s#a")
	same(t, "second parent's kind", second.Kind.At, diag.Position{File: "r.yaml", Line: 8, Column: 12})
	same(t, "second parent's port", second.Port, 80)
	same(t, "names", r.Rules[0].Name+" "+r.Rules[1].Name, "named rule-2")
	everything := document.RouteMatch{PathType: "PathPrefix", Path: "/"}
	same(t, "first rule", r.Rules[0].Matches, []document.RouteMatch{everything, {
		PathType: "Exact", Path: "/a", Method: "GET",
		Headers: []document.ValueMatch{{Type: "Exact", Name: "x-a", Value: "A"}},
		Query:   []document.ValueMatch{{Type: "RegularExpression", Name: "Q", Value: "^a"}},
	}})
	same(t, "second rule", r.Rules[1].Matches, []document.RouteMatch{everything})
}

func TestHTTPRouteWithoutRules(t *testing.T) {
	r := one[*document.Route](t, decode(t, "r.yaml", "{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: r}, spec: {parentRefs: []}}"))
	same(t, "rules", len(r.Rules), 1)
	same(t, "name", r.Rules[0].Name, "rule-1")
	r = one[*document.Route](t, decode(t, "r.yaml", "{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: r}, spec: {rules: []}}"))
	same(t, "no rules", len(r.Rules), 0)
}

// policyOf decodes one AuthPolicy with what stands below its target.
func policyOf(t *testing.T, spec string) *document.InheritedPolicy {
	t.Helper()
	return one[*document.InheritedPolicy](t, decode(t, "p.yaml",
		"apiVersion: kuadrant.io/v1\nkind: AuthPolicy\nmetadata: {name: p, namespace: n}\nspec:\n"+
			"  targetRef: {group: gateway.networking.k8s.io, kind: HTTPRoute, name: api, sectionName: s}\n"+spec))
}

func keys(b document.Block) []string {
	var out []string
	for _, r := range b.Rules {
		out = append(out, r.Key)
	}
	return out
}

func TestPolicyBlocks(t *testing.T) {
	p := policyOf(t, `  overrides:
    strategy: merge
    when: spec.a == 1
    patterns: {z: {allOf: []}}
    rules: {authentication: {b.c: {anonymous: {}}, a: {apiKey: {}}}, response: {unauthorized: {}}}
  defaults:
    when: [{predicate: 'true'}]
    rules: {authorization: {a: {patternMatching: {patterns: []}}}}
  unset: [when, rules.metadata.x, when]
`)
	same(t, "target", p.Target.Kind+"/"+p.Target.Name.Value+"#"+p.Target.Section.Value, "HTTPRoute/api#s")
	same(t, "target at", p.Target.At, diag.Position{File: "p.yaml", Line: 5, Column: 3})
	same(t, "created", p.Created == nil, true)
	same(t, "unset", len(p.Unset), 2)
	same(t, "blocks", len(p.Blocks), 2)
	defaults, overrides := p.Blocks[0], p.Blocks[1]
	same(t, "defaults", defaults.Name, document.BlockDefaults)
	same(t, "defaults at", defaults.At, diag.Position{File: "p.yaml", Line: 11, Column: 3})
	same(t, "defaults merge", defaults.Merge, false)
	same(t, "defaults when", defaults.When == nil, true)
	same(t, "defaults rules", keys(defaults), []string{"rules.authorization.a", "when"})
	same(t, "overrides", overrides.Name, document.BlockOverrides)
	same(t, "overrides merge", overrides.Merge, true)
	same(t, "overrides when", *overrides.When, syntax.Text{Value: "spec.a == 1", At: diag.Position{File: "p.yaml", Line: 8, Column: 5}})
	same(t, "overrides rules", keys(overrides), []string{"patterns.z", "rules.authentication.a", "rules.authentication.b.c", "rules.response.unauthorized"})
	same(t, "rule at", overrides.Rules[1].At, diag.Position{File: "p.yaml", Line: 10, Column: 52})
}

func TestBarePolicy(t *testing.T) {
	p := policyOf(t, "  when: [{patternRef: x}]\n  rules: {authentication: {a: {jwt: {issuerUrl: https://a, ttl: 50}}}}\n")
	same(t, "blocks", len(p.Blocks), 1)
	b := p.Blocks[0]
	same(t, "name", b.Name, document.BlockBare)
	same(t, "at", b.At, diag.Position{File: "p.yaml", Line: 4, Column: 1})
	same(t, "rules", keys(b), []string{"rules.authentication.a", "when"})
	same(t, "value", b.Rules[0].Value, any(map[string]any{"jwt": map[string]any{"issuerUrl": "https://a", "ttl": json.Number("50")}}))
	same(t, "rule", *b.Rules[0].Rule, tables.GatewayRule{Authentication: &tables.GatewayAuthentication{}})
	same(t, "references", b.Rules[1].PatternRefs, []syntax.Text{{Value: "x", At: diag.Position{File: "p.yaml", Line: 6, Column: 23}}})
	same(t, "when", b.Rules[1].Value, any([]any{map[string]any{"patternRef": "x"}}))
	only := policyOf(t, "  unset: [when]\n")
	same(t, "blocks of one that only unsets", len(only.Blocks), 0)
}

func TestRateLimitPolicy(t *testing.T) {
	p := one[*document.InheritedPolicy](t, decode(t, "p.yaml", `
apiVersion: kuadrant.io/v1
kind: RateLimitPolicy
metadata: {name: p}
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: edge}
  limits: {a.b: {rates: [{limit: 5, window: 1m}]}}
  when: [{predicate: 'true'}]
`))
	same(t, "rules", keys(p.Blocks[0]), []string{"limits.a.b", "when"})
	same(t, "value", p.Blocks[0].Rules[0].Value, any(map[string]any{"rates": []any{map[string]any{"limit": json.Number("5"), "window": "1m"}}}))
	same(t, "rule", p.Blocks[0].Rules[0].Rule == nil, true)
}
