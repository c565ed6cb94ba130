package engine

import (
	"strings"
	"testing"

	"github.com/writ-policy/writ/server/decision"
)

const keptGateway = `
{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: g, namespace: n}, spec: {gatewayClassName: c, listeners: [{name: l, port: 80, protocol: HTTP}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: a, namespace: n}, spec: {parentRefs: [{name: g}], hostnames: [a.example.com], rules: [{matches: [{path: {type: PathPrefix, value: /}}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: b, namespace: n}, spec: {parentRefs: [{name: g}], hostnames: [b.example.com], rules: [{matches: [{path: {type: PathPrefix, value: /}}]}]}}
---
{apiVersion: kuadrant.io/v1, kind: AuthPolicy, metadata: {name: of-a, namespace: n}, spec: {targetRef: {group: gateway.networking.k8s.io, kind: HTTPRoute, name: a}, rules: {authorization: {x: {patternMatching: {patterns: [{selector: request.method, operator: eq, value: GET}]}}}}}}
---
{apiVersion: kuadrant.io/v1, kind: AuthPolicy, metadata: {name: of-b, namespace: n}, spec: {targetRef: {group: gateway.networking.k8s.io, kind: HTTPRoute, name: b}, rules: {authorization: {x: {patternMatching: {patterns: [{selector: request.method, operator: eq, value: GET}]}}}}}}
`

// A gateway decision is kept over a reload unless what changed can touch it.
func TestKeepsGateway(t *testing.T) {
	route := func(name, host string) func(string) string {
		return func(text string) string {
			return text + `---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: ` + name + `, namespace: n}, spec: {parentRefs: [{name: g}], hostnames: [` + host + `], rules: [{matches: [{path: {type: Exact, value: /y}}]}]}}
`
		}
	}
	replace := func(old, new string) func(string) string {
		return func(text string) string { return strings.Replace(text, old, new, 1) }
	}
	first := activateDocuments(t, keptGateway, Options{})
	for name, tt := range map[string]struct {
		edit  func(string) string
		keeps bool
		route string
	}{
		"a deny policy":                  {func(s string) string { return s + "---\n" + denyEverywhere }, true, ""},
		"another route's policy":         {replace("name: b}, rules: {authorization: {x:", "name: b}, rules: {authorization: {y:"), true, ""},
		"the route's policy":             {replace("name: a}, rules: {authorization: {x:", "name: a}, rules: {authorization: {y:"), false, ""},
		"a policy of the gateway":        {func(s string) string { return s + "---\n" + policyOfGateway }, false, ""},
		"a route of another host":        {route("c", "c.example.com"), true, ""},
		"a route of the host":            {route("c", "a.example.com"), false, ""},
		"a route of a wildcard":          {route("c", `"*.example.com"`), false, ""},
		"a route that the request names": {replace("hostnames: [b.example.com]", "hostnames: [c.example.com]"), false, "b"},
		"a route that it does not name":  {route("c", "c.example.com"), true, "b"},
		"the gateway":                    {replace("port: 80", "port: 81"), false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := &decision.GatewayRequest{Attributes: map[string]any{
				"request": map[string]any{"host": "A.example.com:80", "method": "GET", "path": "/x"}, "auth": map[string]any{"identity": map[string]any{"sub": "u"}},
			}}
			if tt.route != "" {
				r.Attributes["route"] = map[string]any{"namespace": "n", "name": tt.route}
			}
			before, invalid := first.Gateway(t.Context(), r)
			if invalid != nil || before.IsOwn {
				t.Fatalf("got %+v, %v", before, invalid)
			}
			next := activateDocuments(t, tt.edit(keptGateway), Options{Last: first})
			key, ok := next.GatewayKey(nil, r)
			if got := next.Keeps(r, &before, key); !ok || got != tt.keeps {
				t.Errorf("got %v, want %v", got, tt.keeps)
			}
		})
	}
}

// Revisions are compared by their rows, whatever was between: a change that is taken back loses
// no decision, also at the access point.
func TestKeepsOverAChangeThatIsTakenBack(t *testing.T) {
	const unrelated = "---\n{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r}, rules: []}\n"
	documents := keptGateway + "---\n" + strings.Replace(denyEverywhere, "name: d", "name: e", 1)
	changed := strings.NewReplacer("name: a}, rules: {authorization: {x:", "name: a}, rules: {authorization: {y:", `verbs: ["*"]`, "verbs: [get]").Replace(documents)
	first := activateDocuments(t, documents, Options{})
	second := activateDocuments(t, changed, Options{Last: first})
	third := activateDocuments(t, documents+unrelated, Options{Last: second})
	r := &decision.Request{User: "u", Verb: "get", Resource: "pods"}
	g := &decision.GatewayRequest{Attributes: map[string]any{"request": map[string]any{"host": "a.example.com", "method": "GET", "path": "/x"}}}
	for _, row := range []struct {
		at    *Engine
		keeps bool
	}{{second, false}, {third, true}} {
		d := first.Access(t.Context(), r)
		if got := row.at.Keeps(r, &d, row.at.AccessKey(nil, r)); got != row.keeps || got && d.Revision != row.at.Loaded().Revision {
			t.Errorf("access: got %v of %s, want %v", got, d.Revision, row.keeps)
		}
		path, _ := first.Gateway(t.Context(), g)
		key, _ := row.at.GatewayKey(nil, g)
		if got := row.at.Keeps(g, &path, key); got != row.keeps || got && path.Revision != row.at.Loaded().Revision {
			t.Errorf("gateway: got %v of %s, want %v", got, path.Revision, row.keeps)
		}
	}
}

const (
	denyEverywhere = `{apiVersion: breakglass.t-caas.telekom.com/v1alpha1, kind: DenyPolicy, metadata: {name: d}, spec: {rules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"]}]}}
`
	policyOfGateway = `{apiVersion: kuadrant.io/v1, kind: AuthPolicy, metadata: {name: of-g, namespace: n}, spec: {targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: g}, overrides: {rules: {authorization: {z: {patternMatching: {patterns: [{selector: request.method, operator: eq, value: GET}]}}}}}}}
`
)
