package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/server/decision"
)

// headerPolicy is a gateway with a policy that sets one header always and others
// sometimes.
const headerPolicy = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: net}
spec:
  gatewayClassName: any
  listeners: [{name: http, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: books, namespace: shop}
spec:
  parentRefs: [{name: edge, namespace: net}]
  rules: [{name: all}]
---
apiVersion: kuadrant.io/v1
kind: AuthPolicy
metadata: {name: books, namespace: shop}
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: HTTPRoute, name: books}
  rules:
    authorization:
      known: {patternMatching: {patterns: [{selector: auth.identity.sub, operator: neq, value: eve}]}}
    response:
      unauthorized: {headers: {x-why: {selector: request.headers.x-mine}}}
      success:
        headers:
          x-user: {plain: {selector: auth.identity.sub}}
          x-admin:
            when: [{predicate: auth.identity.admin}]
            plain: {value: "true"}
          role:
            key: X-Role
            when: [{predicate: has(auth.identity.role)}]
            plain: {selector: auth.identity.role}
`

func decideGateway(t *testing.T, e *Engine, identity string) decision.GatewayDecision {
	t.Helper()
	body := `{"request":{"host":"a.b","method":"GET","path":"/","headers":{"x-mine":"a\r\nb"}},"auth":{"identity":` + identity + `}}`
	r, err := decision.DecodeGateway([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	d, refused := e.Gateway(context.Background(), r)
	if refused != nil {
		t.Fatal(refused)
	}
	return d
}

// A header that a policy can set is reported where the policy does not set it, and one
// that cannot be sent is not.
func TestGatewayHeaders(t *testing.T) {
	e := activateDocuments(t, headerPolicy, Options{})
	for identity, want := range map[string][]string{
		`{"sub":"ann"}`:                             {"x-admin", "x-role"},
		`{"sub":"ann","admin":true}`:                {"x-role"},
		`{"sub":"ann","admin":true,"role":"buyer"}`: nil,
	} {
		if d := decideGateway(t, e, identity); !d.Allowed || !reflect.DeepEqual(d.Withheld, want) {
			t.Errorf("%s: got allowed %v, withheld %q, want %q", identity, d.Allowed, d.Withheld, want)
		}
	}
	if d := decideGateway(t, e, `{"sub":"ad\nmin"}`); d.Allowed || !d.Denied || d.Status != 500 || len(d.Headers) > 0 {
		t.Errorf("a line end in a header: got %+v, want an evaluation error", d)
	}
	d := decideGateway(t, e, `{"sub":"eve"}`)
	if !d.Denied || d.Response.Headers["x-why"] != "a  b" || d.Withheld != nil {
		t.Errorf("a denial: got %+v %+v", d, d.Response)
	}
}

// Where routes of two namespaces tie, the backend may be either's: the headers that the
// other route's policy sets are withheld.
func TestGatewayHeadersOfTies(t *testing.T) {
	e := activateDocuments(t, headerPolicy+`---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: open, namespace: aaa}
spec:
  parentRefs: [{name: edge, namespace: net}]
  rules: [{name: all}]
`, Options{})
	d := decideGateway(t, e, `{"sub":"ann"}`)
	want := []string{"x-admin", "x-role", "x-user"}
	if !d.Allowed || d.Target.Route != "HTTPRoute/aaa/open#all" || len(d.Headers) > 0 || !reflect.DeepEqual(d.Withheld, want) {
		t.Errorf("got %+v, want the first route and %q withheld", d, want)
	}
	if d := decideGateway(t, e, `{"sub":"eve"}`); !d.Denied || d.Target.Route != "HTTPRoute/shop/books#all" {
		t.Errorf("got %+v, want the denial of the other route", d)
	}
}

// The client chooses the host and the headers: the time to evaluate them must not grow
// with the square of their length.
func TestGatewayLongRequests(t *testing.T) {
	e := activateDocuments(t, headerPolicy, Options{Timeout: time.Minute})
	headers := make(map[string]string, 20000)
	for i := range 20000 {
		headers[fmt.Sprintf("X-H%d", i)] = "a"
	}
	for name, request := range map[string]map[string]any{
		"a host of many labels": {"host": strings.Repeat("a.", 100000) + "b", "method": "GET", "path": "/"},
		"many headers":          {"host": "a.b", "method": "GET", "path": "/", "headers": headers},
		"many parameters":       {"host": "a.b", "method": "GET", "path": "/?" + strings.Repeat("a=1&", 15000)},
		"a deep path":           {"host": "a.b", "method": "GET", "path": strings.Repeat("/a", 30000)},
	} {
		body, err := json.Marshal(map[string]any{"request": request, "auth": map[string]any{"identity": map[string]any{"sub": "ann"}}})
		if err != nil {
			t.Fatal(err)
		}
		r, err := decision.DecodeGateway(body)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		began := time.Now()
		d, refused := e.Gateway(ctx, r)
		if refused != nil || !d.Allowed {
			t.Errorf("%s: got %+v, %v after %v", name, d, refused, time.Since(began))
		}
		cancel()
	}
}

// With RequireRoute a request must name its route; an invalid one stays invalid.
func TestGatewayRequiresRoute(t *testing.T) {
	e := activateDocuments(t, headerPolicy, Options{RequireRoute: true})
	const request = `{"request":{"host":"a.b","method":"GET","path":"/"},"auth":{"identity":{"sub":"%s"}}%s}`
	for _, row := range []struct {
		name, user, route string
		status            int // 0: invalid
	}{
		{"no route", "ann", ``, 500},
		{"an empty route", "ann", `,"route":{}`, 500},
		{"null", "eve", `,"route":null`, 500},
		{"a route", "ann", `,"route":{"namespace":"shop","name":"books"}`, 200},
		{"a rule", "eve", `,"route":{"namespace":"shop","name":"books","rule":"all"}`, 403},
		{"an unknown route", "ann", `,"route":{"namespace":"shop","name":"other","rule":"all"}`, 404},
		{"a number", "ann", `,"route":7`, 0},
		{"a rule alone", "ann", `,"route":{"rule":"all"}`, 0},
	} {
		r, err := decision.DecodeGateway(fmt.Appendf(nil, request, row.user, row.route))
		if err != nil {
			t.Fatal(err)
		}
		d, refused := e.Gateway(context.Background(), r)
		if (refused != nil) != (row.status == 0) || d.Status != row.status || d.Allowed != (row.status == 200) || d.Denied != (row.status == 500 || row.status == 403) {
			t.Errorf("%s: got %+v, %v, want status %d", row.name, d, refused, row.status)
		}
		if row.status == 500 && (d.EvaluationError != "" || d.Reason != "denied: the request must name its route" || d.Withheld != nil) {
			t.Errorf("%s: got %+v, want the reason", row.name, d)
		}
	}
}

// Names with characters that OPA writes as escapes of its own are read as they are.
func TestNamesOfAllCharacters(t *testing.T) {
	const odd = "\U000ea44f\u0085\u202e"
	e := activateDocuments(t, `
apiVersion: breakglass.t-caas.telekom.com/v1alpha1
kind: DenyPolicy
metadata: {name: p}
spec: {rules: [{verbs: [get], apiGroups: [""], resources: ["pods\U000ea44f\u0085\u202e"]}]}
`, Options{})
	denied := e.Access(t.Context(), &decision.Request{User: "a", Verb: "GET", Resource: "PODS" + odd})
	if !denied.Denied || denied.EvaluationError != "" {
		t.Errorf("got %+v", denied)
	}
}
