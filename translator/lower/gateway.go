package lower

import "github.com/writ-policy/writ/translator/resolve"

// gateway lowers gateways, routes and the policies attached to them.
func gateway(*resolve.Resolved) *Gateway {
	return &Gateway{
		Gateways: []GatewayObject{}, Routes: []GatewayRoute{}, Paths: []GatewayPath{},
		Effective: []EffectivePolicy{}, Policies: []GatewayPolicy{},
	}
}
