package bundles

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/writ-policy/writ/rego"
	"github.com/writ-policy/writ/translator/lower"
)

// gatewayTablesOfOne are one gateway with a route and a policy on each kind of place.
func gatewayTablesOfOne() *lower.Gateway {
	byKind := map[string]int{"AuthPolicy": 0}
	return &lower.Gateway{
		Gateways: []lower.GatewayObject{{
			Namespace: "net", Name: "edge", Effective: byKind,
			Listeners: []lower.GatewayListener{{Name: "http", Port: 80, Protocol: "HTTP", Effective: byKind}},
		}},
		Routes: []lower.GatewayRoute{{Namespace: "shop", Name: "api", Rules: []lower.GatewayRouteRule{{
			Name: "rule-1", Matches: []lower.GatewayMatch{{PathType: "PathPrefix", Path: "/"}},
		}}}},
		Paths: []lower.GatewayPath{{Effective: byKind}},
		Effective: []lower.EffectivePolicy{{
			Kind: "AuthPolicy", Policies: []string{"AuthPolicy/net/edge"}, Replaced: []lower.Replacement{},
			Rules: []lower.EffectiveRule{{
				Key: "rules.authentication.web", Policy: "AuthPolicy/net/edge", Source: "a.yaml:9",
				Value: map[string]any{"jwt": map[string]any{"ttl": json.Number("50")}},
			}},
		}},
		Policies: []lower.GatewayPolicy{
			{Kind: "AuthPolicy", Namespace: "net", Name: "edge", Target: "Gateway/net/edge", Source: "a.yaml:2", Conditions: []lower.GatewayCondition{}, Blocks: []lower.GatewayBlock{}},
			{Kind: "RateLimitPolicy", Namespace: "net", Name: "a", Target: "Gateway/net/edge", Source: "b.yaml:2", Conditions: []lower.GatewayCondition{}, Blocks: []lower.GatewayBlock{}},
			{Kind: "RateLimitPolicy", Namespace: "net", Name: "b", Target: "Gateway/net/edge", Source: "c.yaml:2", Conditions: []lower.GatewayCondition{}, Blocks: []lower.GatewayBlock{}},
		},
	}
}

// What a bundle says of gateways is there again after it was written and read, numbers
// as they were written.
func TestReadBackGateway(t *testing.T) {
	access, gateway := tables(1), gatewayTablesOfOne()
	files := compiledFiles(t, access)
	data, err := json.Marshal(map[string]any{"access": access, "effective": gateway})
	check(t, err)
	files[DataPath] = data
	b, err := assemble(Tables{Access: access, Gateway: gateway}, nil, BuildOptions{}, rego.Files(), files)
	check(t, err)
	read, err := Read(bytes.NewReader(tarball(t, b)))
	check(t, err)
	for name, got := range map[string]*lower.Gateway{"built": b.Gateway, "read": read.Gateway} {
		if !reflect.DeepEqual(got, gateway) {
			t.Errorf("%s: got %+v, want %+v", name, got, gateway)
		}
	}
	if got := sample(t).Gateway; got != nil {
		t.Errorf("without gateways: got %+v, want none", got)
	}
}
