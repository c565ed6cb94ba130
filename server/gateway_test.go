package server

import (
	"strings"
	"testing"

	"github.com/writ-policy/writ/translator/settings"
)

// inherited are a gateway, a route and policies of both; NAME is what the route's
// policy targets.
const inherited = `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: n}
spec:
  gatewayClassName: any
  listeners: [{name: http, port: 80, protocol: HTTP}, {name: https, port: 443, protocol: HTTPS}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: api, namespace: n}
spec: {parentRefs: [{name: edge}], rules: [{name: a}]}
---
apiVersion: kuadrant.io/v1
kind: AuthPolicy
metadata: {name: edge, namespace: n}
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: edge}
  rules: {authentication: {k: {anonymous: {}}}}
---
apiVersion: kuadrant.io/v1
kind: AuthPolicy
metadata: {name: api, namespace: n}
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: HTTPRoute, name: NAME}
  rules: {authorization: {r: {patternMatching: {patterns: [{predicate: "request.method == 'GET'"}]}}}}
`

func TestEffectivePoliciesAndTheirDecisions(t *testing.T) {
	h := newHouse(t)
	path := h.write("policies/inherited.yaml", strings.ReplaceAll(inherited, "NAME", "api"))
	r := h.run()
	r.eventually("ready", r.isReady)
	const (
		prefix  = "/v1/effective/AuthPolicy/"
		point   = "/v1/decisions/gateway"
		request = `{"request":{"host":"a.example","method":"METHOD","path":"/"}}`
	)
	for _, row := range []struct {
		name, path, body string
		code             int
		want             string // in the body
	}{
		{"a route", prefix + "HTTPRoute/n/api", "", 200, `"sources":{"rules.authorization.r":"AuthPolicy/n/api"}`},
		{"a rule of it", prefix + "HTTPRoute/n/api?section=a", "", 200, `"target":"HTTPRoute/n/api#a"`},
		{"through a listener", prefix + "HTTPRoute/n/api?via=Gateway/n/edge%23https", "", 200, `"paths":["Gateway/n/edge#https `},
		{"a gateway", prefix + "Gateway/n/edge", "", 200, `"sources":{"rules.authentication.k":"AuthPolicy/n/edge"}`},
		{"another kind", "/v1/effective/RateLimitPolicy/Gateway/n/edge", "", 200, `"untargeted":["HTTPRoute/n/api#a"]`},
		{"what was replaced", prefix + "replaced", "", 200, `"how":"atomic-default"`},
		{"of one policy", prefix + "replaced?policy=n/api", "", 200, "[]\n"},
		{"reach", prefix + "reach?rule=rules.authorization.r", "", 200, `"source":"AuthPolicy/n/api"`},
		{"reach of nothing", prefix + "reach?rule=rules.authorization.none", "", 200, `"reach":[]`},
		{"an unknown target", prefix + "HTTPRoute/n/none", "", 404, "HTTPRoute n/none not found"},
		{"an unknown section", prefix + "HTTPRoute/n/api?section=b", "", 404, "has no rule"},
		{"an unknown gateway on the way", prefix + "HTTPRoute/n/api?via=Gateway/n/none", "", 404, "Gateway n/none not found"},
		{"an unknown policy", prefix + "replaced?policy=n/none", "", 404, "AuthPolicy n/none not found"},
		{"an unknown kind", "/v1/effective/TLSPolicy/HTTPRoute/n/api", "", 400, "there are AuthPolicy, RateLimitPolicy, TokenRateLimitPolicy"},
		{"an unknown kind of target", prefix + "TCPRoute/n/api", "", 400, "its kind must be Gateway or HTTPRoute or GRPCRoute"},
		{"no gateway on the way", prefix + "HTTPRoute/n/api?via=edge", "", 400, "not of the form KIND/NAMESPACE/NAME"},
		{"a parameter misspelt", prefix + "HTTPRoute/n/api?sections=a", "", 400, "no parameter but section and via"},
		{"a parameter twice", prefix + "HTTPRoute/n/api?section=a&section=a", "", 400, "once each"},
		{"reach without a rule", prefix + "reach", "", 400, "names no rule"},
		{"a policy without a namespace", prefix + "replaced?policy=api", "", 400, "not of the form NAMESPACE/NAME"},
		{"a decision that allows", point, strings.ReplaceAll(request, "METHOD", "GET"), 200, `"rules":{"rules.authorization.r":"allow"}`},
		{"a decision that denies", point, strings.ReplaceAll(request, "METHOD", "PUT"), 200, `"response":{"code":403`},
		{"no request", point, `{"request":{}}`, 400, `"error":{"code":"invalid_request"`},
		{"no such gateway", point, `{"gateway":{"namespace":"n","name":"x"},"request":{"host":"a","method":"GET","path":"/"}}`, 400, `"error":{"code":"unknown_gateway"`},
	} {
		method := "GET"
		if row.body != "" {
			method = "POST"
		}
		if code, body := r.as("", method, row.path, row.body); code != row.code || !strings.Contains(body, row.want) {
			t.Errorf("%s: got %d %s, want %d %s", row.name, code, body, row.code, row.want)
		}
	}
	// What does not compile leaves the old revision in force and says what became of
	// each policy.
	h.write("policies/inherited.yaml", strings.ReplaceAll(inherited, "NAME", "apo"))
	r.eventually("the error in status", func() bool {
		_, body := r.get("/v1/status")
		return strings.Contains(body, "AuthPolicy target apo was not found")
	})
	if code, body := r.get(prefix + "HTTPRoute/n/api"); code != 200 || !strings.Contains(body, "AuthPolicy/n/api") {
		t.Errorf("after an error in %s: got %d %s", path, code, body)
	}
}

// Routes in conflict are not activated with StrictRoutes, and a request must name its
// route with RequireRoute.
func TestStrictAndRequiredRoutes(t *testing.T) {
	h := newHouse(t)
	h.config.Settings, h.config.RequireRoute = settings.Settings{settings.StrictRoutes: {Text: "true"}}, true
	h.write("policies/inherited.yaml", strings.ReplaceAll(inherited, "NAME", "api"))
	r := h.run()
	r.eventually("ready", r.isReady)
	const request = `{"request":{"host":"a.example","method":"GET","path":"/"}ROUTE}`
	for route, want := range map[string]string{
		"": `"denied":true,"status":500,"reason":"denied: the request must name its route"`,
		`,"route":{"namespace":"n","name":"api"}`: `"allowed":true`,
	} {
		if code, body := r.as("", "POST", "/v1/decisions/gateway", strings.ReplaceAll(request, "ROUTE", route)); code != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: got %d %s, want %s", route, code, body, want)
		}
	}
	conflict := strings.ReplaceAll(inherited, "NAME", "api")
	conflict = strings.Replace(conflict, "protocol: HTTP}", "protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}", 1)
	h.write("policies/inherited.yaml", conflict+`---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: api, namespace: m}
spec: {parentRefs: [{name: edge, namespace: n, sectionName: http}], rules: [{name: a}]}
`)
	r.eventually("the error in status", func() bool {
		_, body := r.get("/v1/status")
		return strings.Contains(body, "route-conflict")
	})
}
