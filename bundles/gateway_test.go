package bundles

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/writ-policy/writ/translator/tables"
)

// gatewayTablesOfOne returns one gateway with a route and a policy for each kind of target.
func gatewayTablesOfOne() *tables.Gateway {
	byKind := map[string]int{"AuthPolicy": 0}
	return &tables.Gateway{
		Gateways: []tables.GatewayObject{{
			Namespace: "net", Name: "edge", Effective: byKind,
			Listeners: []tables.GatewayListener{{Name: "http", Port: 80, Protocol: "HTTP", Effective: byKind}},
		}},
		Routes: []tables.GatewayRoute{{Namespace: "shop", Name: "api", Rules: []tables.GatewayRouteRule{{
			Name: "rule-1", Matches: []tables.GatewayMatch{{PathType: "PathPrefix", Path: "/"}},
		}}}},
		Paths: []tables.GatewayPath{{Effective: byKind}},
		Effective: []tables.EffectivePolicy{{
			Kind: "AuthPolicy", Policies: []string{"AuthPolicy/net/edge"}, Replaced: []tables.Replacement{},
			Rules: []tables.EffectiveRule{{
				Key: "rules.authentication.web", Policy: "AuthPolicy/net/edge", Source: "a.yaml:9",
				Value: map[string]any{"jwt": map[string]any{"ttl": json.Number("50")}},
			}},
		}},
		Policies: []tables.GatewayPolicy{
			{Kind: "AuthPolicy", Namespace: "net", Name: "edge", Target: "Gateway/net/edge", Source: "a.yaml:2", Conditions: []tables.GatewayCondition{}, Blocks: []tables.GatewayBlock{}},
			{Kind: "RateLimitPolicy", Namespace: "net", Name: "a", Target: "Gateway/net/edge", Source: "b.yaml:2", Conditions: []tables.GatewayCondition{}, Blocks: []tables.GatewayBlock{}},
			{Kind: "RateLimitPolicy", Namespace: "net", Name: "b", Target: "Gateway/net/edge", Source: "c.yaml:2", Conditions: []tables.GatewayCondition{}, Blocks: []tables.GatewayBlock{}},
		},
	}
}

// Gateway tables survive writing and reading; numbers keep their digits.
func TestReadBackGateway(t *testing.T) {
	access, gateway := translated(1), gatewayTablesOfOne()
	b := assembled(t, tables.List{access, gateway}, map[string]any{"access": access, "effective": gateway})
	read, err := Read(bytes.NewReader(tarball(t, b)))
	check(t, err)
	for name, got := range map[string]*tables.Gateway{"built": tables.Of[*tables.Gateway](b.Tables), "read": tables.Of[*tables.Gateway](read.Tables)} {
		if !reflect.DeepEqual(got, gateway) {
			t.Errorf("%s: got %+v, want %+v", name, got, gateway)
		}
	}
	if got := tables.Of[*tables.Gateway](sample(t).Tables); got != nil {
		t.Errorf("without gateways: got %+v, want none", got)
	}
}
