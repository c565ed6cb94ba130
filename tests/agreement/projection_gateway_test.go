package agreement

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/server/projection"
	"github.com/writ-policy/writ/tests/oracle/gateway"
	"github.com/writ-policy/writ/tests/oracle/random"
	"github.com/writ-policy/writ/translator/footprint"
)

// Requests at the gateway point with equal projections get equal decisions from engine,
// stock OPA and oracle, unless they are said to be for one request only.
func TestEqualGatewayProjectionsAreDecidedEqually(t *testing.T) {
	t.Parallel()
	shared, own := 0, 0
	for seed := firstWorld(); seed < firstWorld()+uint64(max(4, gatewayWorlds()/4)); seed++ {
		files, world := gateway.Generate(seed)
		bundle := build(t, seed, files)
		e, err := engine.Activate(t.Context(), bundle, engine.Options{})
		if err != nil {
			t.Fatalf("world %d: %v", seed, err)
		}
		stock := stockPoint(t, bundle, "gateway")
		draw := random.New(seed, 79)
		all := world.Requests(120)
		first := make(map[string]*gateway.Request)
		for _, request := range all[:60] {
			for range 8 {
				now := varyGateway(draw, request, all[60+draw.IntN(60)])
				key, ok := gatewayKey(t, e, now)
				other := first[key]
				switch {
				case !ok:
					continue
				case other == nil:
					first[key] = now
					continue
				case other.JSON() == now.JSON():
					continue
				}
				one, two := wholeGateway(t, e, other), wholeGateway(t, e, now)
				if one == "own" && two == "own" {
					own++
					continue
				}
				if shared++; one != two {
					t.Fatalf("world %d: two requests with one projection are decided differently:\n%s\n%s\n%s\n%s", seed, other.JSON(), one, now.JSON(), two)
				}
				if why := unequal(treeOfGate(t, world.Decide(other)), treeOfGate(t, world.Decide(now)), "oracle"); why != "" {
					t.Fatalf("world %d: the oracle decides two requests with one projection differently: %s\n%s\n%s", seed, why, other.JSON(), now.JSON())
				}
				if shared%20 == 0 {
					if why := unequal(guardedByStock(t, stock, other.JSON()), guardedByStock(t, stock, now.JSON()), "OPA"); why != "" {
						t.Fatalf("world %d: OPA decides two requests with one projection differently: %s\n%s\n%s", seed, why, other.JSON(), now.JSON())
					}
				}
			}
		}
	}
	if t.Logf("%d pairs of requests, %d of policies that can read anything", shared, own); shared == 0 {
		t.Error("no two requests have one projection")
	}
}

func gatewayKey(t *testing.T, e *engine.Engine, r *gateway.Request) (string, bool) {
	t.Helper()
	decoded, err := decision.DecodeGateway([]byte(r.JSON()))
	if err != nil {
		return "", false
	}
	key, ok := e.GatewayKey(nil, decoded)
	return string(key), ok
}

// wholeGateway is a decision with everything that a caller gets, or "own".
func wholeGateway(t *testing.T, e *engine.Engine, r *gateway.Request) string {
	t.Helper()
	decoded, err := decision.DecodeGateway([]byte(r.JSON()))
	if err != nil {
		t.Fatal(err)
	}
	d, invalid := e.Gateway(t.Context(), decoded)
	switch {
	case invalid != nil:
		return invalid.Code + " " + invalid.Message
	case d.IsOwn:
		return "own"
	}
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(string(text), d.Withheld, d.EvaluationError)
}

// varyGateway changes members of r to those of another request, or to values that no
// document knows.
func varyGateway(draw random.Source, r, other *gateway.Request) *gateway.Request {
	varied := &gateway.Request{Input: maps.Clone(r.Input)}
	request, _ := r.Input["request"].(map[string]any)
	from, _ := other.Input["request"].(map[string]any)
	request = maps.Clone(request)
	varied.Input["request"] = request
	replace := func(name string, values ...any) {
		if value := values[draw.IntN(len(values))]; value != nil {
			request[name] = value
		}
	}
	for range 1 + draw.IntN(2) {
		switch draw.IntN(9) {
		case 0:
			replace("path", from["path"], "/zz", "/zz/1?a=b", "/")
		case 1:
			replace("method", from["method"], "TRACE")
		case 2:
			replace("headers", from["headers"], map[string]any{"x-zz": "1"})
		case 3:
			headers := map[string]any{"x-request-id": fmt.Sprint(draw.IntN(1000))}
			if given, ok := request["headers"].(map[string]any); ok {
				maps.Copy(headers, given)
			}
			request["headers"] = headers
		case 4:
			replace("id", "1", "2")
		case 5:
			replace("body", "x", "y")
		case 6:
			name := draw.One([]string{"auth", "source", "metadata", "destination", "connection"})
			if value, ok := other.Input[name]; ok {
				varied.Input[name] = value
			} else {
				delete(varied.Input, name)
			}
		case 7:
			replace("host", from["host"], "zz.example")
		case 8:
			varied.Input["source"] = map[string]any{"address": fmt.Sprint("10.0.0.", draw.IntN(255)), "port": draw.IntN(60000)}
		}
	}
	return varied
}

// distinguishingGateway has routes and a policy that tell requests apart by every
// attribute that a projection has.
const distinguishingGateway = `
{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: g, namespace: n}, spec: {gatewayClassName: c, listeners: [{name: l, port: 80, protocol: HTTP}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: r, namespace: n}, spec: {parentRefs: [{name: g}], rules: [
  {matches: [{path: {type: Exact, value: /exact}}]},
  {matches: [{path: {type: PathPrefix, value: /api}}]},
  {matches: [{path: {type: PathPrefix, value: /h}, headers: [{name: X-Kind, value: a}]}]},
  {matches: [{path: {type: PathPrefix, value: /q}, queryParams: [{name: k, value: a}]}]}]}}
---
{apiVersion: kuadrant.io/v1, kind: AuthPolicy, metadata: {name: p, namespace: n}, spec: {targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: g}, rules: {
  authorization: {sub: {patternMatching: {patterns: [{selector: auth.identity.sub, operator: eq, value: root}]}, when: [{selector: request.headers.x-check, operator: eq, value: "1"}]},
    cel: {patternMatching: {patterns: [{predicate: "!has(request.headers.x_cel) || request.headers.x_cel == 'a'"}]}}},
  response: {unauthorized: {message: {value: "no"}}}}}}
`

// Each rule of the projection has two requests that are decided differently. Their
// projections differ, and are equal if that rule is broken.
func TestBrokenGatewayProjectionsAreNoticed(t *testing.T) {
	t.Parallel()
	bundle := build(t, 0, map[string]string{"g.yaml": distinguishingGateway})
	e, err := engine.Activate(t.Context(), bundle, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const plain = `{"request":{"host":"h","method":"GET","path":%q,"headers":%s},"auth":{"identity":%s}}`
	request := func(path, headers, identity string) *gateway.Request {
		r := new(gateway.Request)
		if err := json.Unmarshal(fmt.Appendf(nil, plain, path, headers, identity), &r.Input); err != nil {
			t.Fatal(err)
		}
		return r
	}
	const some, root = `{"sub":"x"}`, `{"sub":"root"}`
	for name, row := range map[string]struct {
		a, b  *gateway.Request
		spoil func(*footprint.Gateway)
	}{
		"exact paths":   {request("/exact", `{}`, some), request("/other", `{}`, some), func(f *footprint.Gateway) { f.Paths.Values = nil }},
		"prefixes":      {request("/api/1", `{}`, some), request("/other", `{}`, some), func(f *footprint.Gateway) { f.Paths.Patterns = nil }},
		"route headers": {request("/h", `{"X-Kind":"a"}`, some), request("/h", `{"X-Kind":"b"}`, some), func(f *footprint.Gateway) { f.Headers = nil }},
		"queries":       {request("/q?k=a", `{}`, some), request("/q?k=b", `{}`, some), func(f *footprint.Gateway) { f.Query = false }},
		"headers":       {request("/api", `{"x-check":"1"}`, some), request("/api", `{}`, some), func(f *footprint.Gateway) { f.Reads = nil }},
		"expressions":   {request("/api", `{"x_cel":"a"}`, root), request("/api", `{"x_cel":"b"}`, root), func(f *footprint.Gateway) { f.Reads = nil }},
		"identities": {request("/api", `{"x-check":"1"}`, some), request("/api", `{"x-check":"1"}`, root), func(f *footprint.Gateway) {
			f.Reads = slices.DeleteFunc(slices.Clone(f.Reads), func(s []string) bool { return s[0] == "auth" })
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if one, two := wholeGateway(t, e, row.a), wholeGateway(t, e, row.b); one == two {
				t.Fatalf("both requests are decided alike: %s", one)
			}
			one, ok1 := gatewayKey(t, e, row.a)
			two, ok2 := gatewayKey(t, e, row.b)
			if !ok1 || !ok2 || one == two {
				t.Errorf("the requests have one projection, or none: %v, %v", ok1, ok2)
			}
			broken := *bundle.Footprint.Gateway
			row.spoil(&broken)
			p := projection.NewGatewayKeys(&broken)
			if brokenKey(t, p, row.a) != brokenKey(t, p, row.b) {
				t.Error("the broken projection still tells the requests apart, so the row proves nothing")
			}
		})
	}
}

func brokenKey(t *testing.T, p *projection.GatewayKeys, r *gateway.Request) string {
	t.Helper()
	decoded, err := decision.DecodeGateway([]byte(r.JSON()))
	if err != nil {
		t.Fatal(err)
	}
	key, _ := p.GatewayKey(nil, decoded)
	return string(key)
}
