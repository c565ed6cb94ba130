package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/writ-policy/writ/server/cache"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/metrics"
)

// gatewayDocuments are one gateway with n routes, each of an application with a hostname of
// its own and three rules, a policy on the gateway, and one on every tenth route.
func gatewayDocuments(n int) string {
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
	return documents.String()
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
	return encode(map[string]any{
		"request": map[string]any{
			"id": fmt.Sprintf("request-%d", i), "host": fmt.Sprintf("app-%d.example.com", app), "method": [...]string{"GET", "POST", "DELETE"}[i%3],
			"path": fmt.Sprintf("/api/items/%d?page=2", i), "headers": map[string]string{"x-request-id": fmt.Sprint(i), "x-tenant": "a", "accept": "application/json"},
		},
		"source": map[string]any{"address": "192.0.2.7"},
		"auth":   map[string]any{"identity": map[string]string{"sub": fmt.Sprintf("user-%d", i%7), "group": fmt.Sprintf("owners-%d", app)}},
	})
}

// gateway prints what a decision at that point costs: in process, and cached over HTTP
// beside a handler that reads the body, with the two other points.
func gateway(r *results, o options) error {
	r.printf("\ngateway: a policy for all routes, and one for each tenth route\n")
	base, err := allowTrue()
	if err != nil {
		return err
	}
	floor := smallest(o.rounds, func(int) { base() })
	for _, routes := range []int{10, 100, 1000} {
		e, err := activateText(gatewayDocuments(routes))
		if err != nil {
			return err
		}
		requests, err := gatewayRequests(routes, 1024)
		if err != nil {
			return err
		}
		cached := cache.New(cache.Options{Entries: cache.DefaultEntries}, metrics.New()).Of(e)
		for _, request := range requests {
			cached.Gateway(context.Background(), request)
		}
		for _, row := range []struct {
			name     string
			policies decision.Policies
		}{{"uncached", e}, {"cached", cached}} {
			result := smallest(o.rounds, func(i int) { row.policies.Gateway(context.Background(), requests[i%len(requests)]) })
			us := float64(result.NsPerOp()) / 1e3
			r.printf("  %-46s %10.1f us %7d allocs %8.2f x floor\n", fmt.Sprintf("%d routes, %s", routes, row.name), us, result.AllocsPerOp(),
				us*1e3/float64(floor.NsPerOp()))
			r.point("CPU of a gateway decision, by routes", "us", row.name, routes, us)
			if row.name == "uncached" && routes == 1000 {
				r.reached(us, goalGateway)
			}
		}
	}
	return cachedPoints(r, o)
}

// cachedPoints prints what cached decisions of each point cost over HTTP.
func cachedPoints(r *results, o options) error {
	const routes = 1000
	return inWorld(1000, documentsPerFile, func(w *world) error {
		for name, text := range map[string]string{"gateway.yaml": gatewayDocuments(routes), "visibility.yaml": visibilityDocuments(100)} {
			if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o644); err != nil {
				return err
			}
		}
		self, err := os.Executable()
		if err != nil {
			return err
		}
		reviews := plainOf(w.requests(repeated))
		var gateways, views [][]byte
		for i := range repeated {
			gateways = append(gateways, gatewayBody(routes, i))
			views = append(views, fmt.Appendf(nil, `{"user":"user-%d","groups":["staff","one-%d"],"cluster":{"name":"c1"},"type":"pods"}`, i%50, i%100))
		}
		serve := []string{
			o.writ, "serve", "--policies", w.dir, "--log-level", "error", "--visibility-cache-entries", "100000", "--listen", addressWord,
		}
		r.printf("  cached over HTTP, a policy directory with documents of all points\n")
		goalOf := func(point string) string { return fmt.Sprintf(goalCached, point) }
		return overHTTP(r, w, []peer{
			{name: "floor: net/http that reads the body", command: []string{self, "-floor", addressWord}, bodies: rawBodies("/plain", reviews)},
			{name: "floor: the least of a cached answer", command: []string{self, "-least", addressWord}, bodies: rawBodies("/v1/decisions/access", reviews)},
			{name: "access, cached", goal: goalOf("access"), command: serve, bodies: rawBodies("/v1/decisions/access", reviews)},
			{name: "gateway, cached", goal: goalOf("gateway"), command: serve, bodies: rawBodies("/v1/decisions/gateway", gateways)},
			{name: "visibility, cached", goal: goalOf("visibility"), command: serve, bodies: rawBodies("/v1/decisions/visibility", views)},
		}, 0, o)
	})
}
