package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
)

// gatewayEngine has one gateway with n routes, each of an application with a hostname of
// its own and three rules, a policy on the gateway, and one on every tenth route.
func gatewayEngine(n int) (*engine.Engine, error) {
	var documents strings.Builder
	documents.WriteString(`apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: net}
spec: {gatewayClassName: c, listeners: [{name: http, hostname: "*.example.com", port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}]}
---
apiVersion: kuadrant.io/v1
kind: AuthPolicy
metadata: {name: edge, namespace: net}
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: edge}
  defaults:
    rules:
      authentication: {key: {apiKey: {selector: {matchLabels: {app: edge}}}}}
      authorization:
        known: {patternMatching: {patterns: [{selector: auth.identity.sub, operator: neq, value: banned}]}}
        method: {patternMatching: {patterns: [{predicate: "request.method != 'TRACE' && request.headers['x-tenant'] != 'none'"}]}}
`)
	for i := range n {
		fmt.Fprintf(&documents, `---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: app-%[1]d, namespace: team-%[2]d}
spec:
  parentRefs: [{name: edge, namespace: net}]
  hostnames: [app-%[1]d.example.com]
  rules:
    - {name: read, matches: [{path: {type: PathPrefix, value: /}, method: GET}]}
    - {name: api, matches: [{path: {type: PathPrefix, value: /api}}]}
    - {name: write, matches: [{path: {type: PathPrefix, value: /}}]}
`, i, i%100)
		if i%10 == 0 {
			fmt.Fprintf(&documents, `---
apiVersion: kuadrant.io/v1
kind: AuthPolicy
metadata: {name: app-%[1]d, namespace: team-%[2]d}
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: HTTPRoute, name: app-%[1]d}
  rules:
    authentication: {key: {apiKey: {selector: {matchLabels: {app: edge}}}}}
    authorization: {owners: {patternMatching: {patterns: [{selector: auth.identity.group, operator: eq, value: owners-%[1]d}]}}}
`, i, i%100)
		}
	}
	return activateText(documents.String())
}

// gatewayRequests are n requests to routes of the gateway, in turn; no request ID occurs
// twice.
func gatewayRequests(routes, n int) ([]*decision.GatewayRequest, error) {
	list := make([]*decision.GatewayRequest, n)
	for i := range list {
		r, err := decision.DecodeGateway(gatewayBody(routes, i))
		if err != nil {
			return nil, err
		}
		list[i] = r
	}
	return list, nil
}

func gatewayBody(routes, i int) []byte {
	app := i % routes
	text, err := json.Marshal(map[string]any{
		"request": map[string]any{
			"id": fmt.Sprintf("request-%d", i), "host": fmt.Sprintf("app-%d.example.com", app), "method": [...]string{"GET", "POST", "DELETE"}[i%3],
			"path": fmt.Sprintf("/api/items/%d?page=2", i), "headers": map[string]string{"x-request-id": fmt.Sprint(i), "x-tenant": "a", "accept": "application/json"},
		},
		"source": map[string]any{"address": "192.0.2.7"},
		"auth":   map[string]any{"identity": map[string]string{"sub": fmt.Sprintf("user-%d", i%7), "group": fmt.Sprintf("owners-%d", app)}},
	})
	if err != nil {
		panic(err) // plain strings always have a JSON form
	}
	return text
}
