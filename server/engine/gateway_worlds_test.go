package engine

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine/gateway"
	"github.com/writ-policy/writ/tests/gate"
	"github.com/writ-policy/writ/translator/source"
)

// crowdedGateways have listeners that differ in each criterion, routes that tie and routes
// of both kinds, and policies with each form of condition and value.
const crowdedGateways = `
{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: g, namespace: n}, spec: {gatewayClassName: c, listeners: [
  {name: any, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}},
  {name: wild, port: 80, protocol: HTTP, hostname: "*.example.com", allowedRoutes: {namespaces: {from: All}}},
  {name: deep, port: 80, protocol: HTTP, hostname: "*.a.example.com", allowedRoutes: {namespaces: {from: All}}},
  {name: exact, port: 80, protocol: HTTP, hostname: b.a.example.com, allowedRoutes: {namespaces: {from: All}}},
  {name: secure, port: 443, protocol: HTTPS, allowedRoutes: {namespaces: {from: All}}}, {name: raw, port: 90, protocol: TCP}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: r, namespace: n}, spec: {parentRefs: [{name: g}], rules: [
  {name: exact, matches: [{path: {type: Exact, value: /a}}]},
  {name: expression, matches: [{path: {type: RegularExpression, value: "/a/[0-9]+"}}]},
  {name: header, matches: [{path: {type: PathPrefix, value: /a/}, headers: [{name: X-H, value: "1"}]}]},
  {name: headers, matches: [{path: {type: PathPrefix, value: /a}, headers: [{name: x-h, type: RegularExpression, value: "[2-3]"}]}]},
  {name: query, matches: [{path: {type: PathPrefix, value: /a}, queryParams: [{name: q, value: "1 2"}]}]},
  {name: post, matches: [{path: {type: PathPrefix, value: /a}, method: POST}]},
  {name: prefix, matches: [{path: {type: PathPrefix, value: /a}}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: s, namespace: m}, spec: {parentRefs: [{name: g, namespace: n}], hostnames: ["*.example.com"], rules: [
  {name: tie, matches: [{path: {type: PathPrefix, value: /t}}]}, {name: tied, matches: [{path: {type: PathPrefix, value: /t}, method: GET}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: t, namespace: n}, spec: {parentRefs: [{name: g}], hostnames: ["*.example.com"], rules: [
  {name: tie, matches: [{path: {type: PathPrefix, value: /t}}]}, {name: tied, matches: [{path: {type: PathPrefix, value: /t}, method: GET}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: u, namespace: n}, spec: {parentRefs: [{name: g}], hostnames: ["*.example.com"], rules: [{name: tie, matches: [{path: {type: PathPrefix, value: /t}}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: v, namespace: o}, spec: {parentRefs: [{name: g, namespace: n}], hostnames: ["*.example.com"], rules: [{name: tie, matches: [{path: {type: PathPrefix, value: /t}}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: GRPCRoute, metadata: {name: r, namespace: m}, spec: {parentRefs: [{name: g, namespace: n, sectionName: secure}], rules: [
  {name: both, matches: [{method: {service: s.S, method: M}}]}, {name: expression, matches: [{method: {type: RegularExpression, service: "s\\..*"}, headers: [{name: x-h, value: "1"}]}]},
  {name: rest}]}}
---
{apiVersion: kuadrant.io/v1, kind: AuthPolicy, metadata: {name: p, namespace: n}, spec: {targetRef: {group: gateway.networking.k8s.io, kind: HTTPRoute, name: r},
  patterns: {named: {allOf: [{selector: auth.identity.sub, operator: neq, value: eve}]}},
  when: [{any: [{selector: request.method, operator: neq, value: PUT}, {predicate: "request.headers['x-h'] == '1'"}]}],
  rules: {
    authentication: {key: {apiKey: {selector: {matchLabels: {a: b}}}}, guests: {anonymous: {}, when: [{selector: request.headers.x-h, operator: eq, value: ""}]}},
    authorization: {
      a: {patternMatching: {patterns: [{patternRef: named}]}},
      b: {when: [{selector: auth.identity.groups, operator: incl, value: dev}], patternMatching: {patterns: [{selector: auth.identity.groups.0, operator: matches, value: "^d"}]}},
      c: {when: [{selector: auth.identity.n, operator: eq, value: "3"}], patternMatching: {patterns: [{all: [{selector: auth.metadata.m.list, operator: excl, value: "7"}, {selector: auth.metadata.m, operator: neq, value: "{\"list\":[7]}"}]}]}},
      d: {patternMatching: {patterns: [{predicate: "auth.authorization.a || request.method == 'POST'"}, {selector: auth.identity.zero.00, operator: neq, value: x}]}},
      e: {priority: 1, opa: {rego: "allow if input.auth.authorization.d\n"}},
      f: {priority: 1, kubernetesSubjectAccessReview: {user: {selector: auth.identity.sub}, resourceAttributes: {verb: {value: get}, resource: {value: pods}, namespace: {expression: "auth.identity.ns"}}}, when: [{selector: request.method, operator: eq, value: DELETE}]},
      g: {priority: 2, patternMatching: {patterns: [{selector: "context.request.http.headers.x-h", operator: neq, value: "3"}, {selector: context.source.address, operator: neq, value: "10.0.0.1"}, {selector: context.request.http.scheme, operator: neq, value: https}, {selector: request.url_path, operator: neq, value: /a/1},
        {selector: auth.identity.zero.00, operator: neq, value: x}, {any: [{selector: auth.identity.sub, operator: eq, value: ann}, {selector: request.method, operator: eq, value: GET}]}]}}},
    response: {
      unauthenticated: {code: 499, message: {selector: "who is {request.host}?"}, headers: {x-a: {selector: source.address}}},
      unauthorized: {body: {expression: "request.path + '!'"}, headers: {x-b: {selector: auth.identity.groups}}},
      success: {
        headers: {user: {key: x-user, plain: {selector: auth.identity.sub}}, n: {plain: {selector: auth.identity.n}}, all: {json: {properties: {a: {selector: auth.identity}, b: {value: 1.50}}}}},
        filters: {late: {priority: 1, plain: {selector: auth.response.user}}, c: {plain: {expression: "size(request.path)"}}, all: {when: [{selector: auth.identity.sub, operator: eq, value: ann}], json: {properties: {z: {selector: auth.authorization.a}}}}}}}}}}
---
{apiVersion: kuadrant.io/v1, kind: AuthPolicy, metadata: {name: q, namespace: m}, spec: {targetRef: {group: gateway.networking.k8s.io, kind: HTTPRoute, name: s},
  rules: {authorization: {x: {patternMatching: {patterns: [{selector: request.headers.x-h, operator: eq, value: "1"}]}}}}}}
---
{apiVersion: kuadrant.io/v1, kind: AuthPolicy, metadata: {name: q, namespace: n}, spec: {targetRef: {group: gateway.networking.k8s.io, kind: HTTPRoute, name: t},
  rules: {authorization: {y: {patternMatching: {patterns: [{selector: request.headers.x-h, operator: eq, value: "1"}]}}}, response: {success: {headers: {x-t: {plain: {value: true}}}}}}}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: pods, namespace: n}, rules: [{verbs: [get], apiGroups: [""], resources: [pods]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: pods, namespace: n}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: pods}, subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: ann}]}
`

// The tables decide requests near what the documents tell apart as Rego does.
func TestGatewayTablesDecideCrowdedGateways(t *testing.T) {
	e := activateRead(t, map[string]string{"p.yaml": crowdedGateways})
	random := rand.New(rand.NewPCG(1, 2))
	decided, statuses := 0, make(map[int]int)
	requests := gate.Worlds(400)
	for range requests {
		r := crowdedRequest(t, random)
		want, paths, wantErr := e.gatewayByRego(t.Context(), r, e.now())
		routed, ok := e.routes.Route(r)
		if !ok {
			continue
		}
		got, err := routed.Decide(timeOf(e.now()), &gatewayRego{e, t.Context(), e.now(), ""})
		if errors.Is(err, gateway.ErrUncertain) {
			continue
		}
		decided++
		statuses[got.Status]++
		if wantErr != nil || err != nil || !reflect.DeepEqual(routed.Targets, paths) || string(got.AppendJSON(nil)) != string(want.AppendJSON(nil)) {
			text, _ := json.Marshal(r.Attributes)
			t.Fatalf("%s\n got %v %s %v\nwant %v %s %v", text, routed.Targets, got.AppendJSON(nil), err, paths, want.AppendJSON(nil), wantErr)
		}
	}
	if t.Logf("the tables decided %d requests: %v", decided, statuses); decided < requests/2 || len(statuses) < 4 {
		t.Errorf("the tables decided %d of %d requests: %v", decided, requests, statuses)
	}
}

// Of routes from a cluster that tie, the older one takes the request.
func TestGatewayTablesKnowTheAgeOfObjects(t *testing.T) {
	snapshot := source.Snapshot{Files: []source.File{source.NewFile("g.yaml", []byte(
		`{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: g, namespace: n}, spec: {gatewayClassName: c, listeners: [{name: l, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}]}}`,
	))}}
	for namespace, year := range map[string]string{"a": "2026", "b": "2025"} {
		snapshot.Files = append(snapshot.Files, source.File{Path: "HTTPRoute " + namespace + "/r", Object: true, Content: source.TextOf([]byte(
			`{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","metadata":{"name":"r","namespace":"` + namespace + `","creationTimestamp":"` + year +
				`-01-01T00:00:00Z"},"spec":{"parentRefs":[{"name":"g","namespace":"n"}],"rules":[{"name":"all"}]}}`))})
	}
	e := activateSnapshot(t, snapshot)
	r, err := decision.DecodeGateway([]byte(`{"request":{"host":"h","method":"GET","path":"/"}}`))
	if err != nil {
		t.Fatal(err)
	}
	_, want, err := e.gatewayByRego(t.Context(), r, e.now())
	routed, ok := e.routes.Route(r)
	if err != nil || !ok || len(want) != 1 || want[0].Route != "HTTPRoute/b/r#all" || !reflect.DeepEqual(routed.Targets, want) {
		t.Errorf("got %+v, want %v, %v", routed, want, err)
	}
}

func crowdedRequest(t *testing.T, random *rand.Rand) *decision.GatewayRequest {
	t.Helper()
	pick := func(values ...string) string { return values[random.IntN(len(values))] }
	text := `{"request":{"method":` + pick(`"GET"`, `"POST"`, `"POST"`, `"PUT"`, `"DELETE"`) +
		`,"host":` + pick(`"b.a.example.com"`, `"c.a.example.com"`, `"z.example.com:80"`, `"y.example.com"`, `"B.A.Example.com:80"`, `"c.a.example.com"`, `"example.com"`, `"d.example.com:x"`, `"[::1]:80"`, `"::1"`, `".example.com"`, `"x"`) +
		`,"path":` + pick(`"/a"`, `"/a"`, `"/a/b"`, `"/t"`, `"/t"`, `"/a?q=1+2"`, `"/a/?q=3&q=1%202"`, `"/a/b?q=1%202&q=3"`, `"/a/b?q=%zz"`, `"/a/1"`, `"/ab"`, `"/t"`, `"/t/x"`, `"/s.S/M"`, `"/s.T/M"`, `"/s.S/M/N"`, `"/x"`) +
		pick(``, ``, ``, `,"url_path":"/a/2"`, `,"query":"q=1+2"`, `,"scheme":"https"`, `,"scheme":"HTTP"`, `,"time":"never"`, `,"size":null`) +
		pick(``, `,"headers":{}`, `,"headers":{"x-h":"1"}`, `,"headers":{"X-H":"1","x-h":"3","X-h":"2"}`, `,"headers":{"x-h":"2"}`, `,"headers":{"content-type":"application/grpc"}`, `,"headers":{"Content-Type":"application/grpc+x","x-h":"1"}`) + `}` +
		pick(``, ``, `,"destination":{"port":80}`, `,"destination":{"port":443}`, `,"destination":{"port":443}`, `,"destination":{"port":90}`) +
		pick(``, ``, ``, `,"gateway":{"namespace":"n","name":"g","listener":"any"}`, `,"gateway":{"namespace":"n","name":"g","listener":"secure"}`, `,"gateway":{"namespace":"n","name":"g"}`) +
		pick(``, ``, ``, ``, `,"route":{"namespace":"n","name":"r"}`, `,"route":{"namespace":"n","name":"r","rule":"post"}`, `,"route":{"kind":"GRPCRoute","namespace":"m","name":"r"}`, `,"route":{"namespace":"m","name":"s"}`, `,"route":{"namespace":"m","name":"s","rule":"none"}`) +
		pick(``, `,"source":{"address":"10.0.0.1"}`, `,"source":{"address":"10.0.0.2"}`) +
		`,"auth":{"identity":` + pick(`null`, `false`, `{"sub":"ann"}`, `{"sub":"ann","ns":"n"}`, `{"sub":"bob","ns":"n","groups":["dev","ops"]}`, `{"sub":"eve"}`,
		`{"sub":"ann","ns":"n","n":3,"zero":["x"]}`, `{"sub":"ann","n":3.0}`, `{"sub":"ann","groups":["ops","dev"]}`, `{"sub":"ann","ns":"n","groups":[true,1.5]}`) +
		pick(``, `,"metadata":{}`, `,"metadata":{"m":{"list":[7]}}`, `,"metadata":{"m":{"list":[]}}`) + `}}`
	r, err := decision.DecodeGateway([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return r
}
