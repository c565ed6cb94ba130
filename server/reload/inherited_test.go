package reload

import (
	"reflect"
	"testing"

	"github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/translator/tables"
)

func TestInherited(t *testing.T) {
	const auth = "AuthPolicy"
	got := inherited(&tables.Gateway{
		Policies: []tables.GatewayPolicy{
			{Kind: auth, Blocks: []tables.GatewayBlock{{Block: "defaults", Strategy: "merge"}, {Block: "overrides", Strategy: "atomic"}},
				Conditions: []tables.GatewayCondition{{Type: "Accepted", Status: "True"}, {Type: "Enforced", Status: "True"}}},
			{Kind: auth, Unset: []string{"rules.authentication.a", "when"},
				Conditions: []tables.GatewayCondition{{Type: "Enforced", Status: "False"}}},
		},
		Paths: []tables.GatewayPath{{Effective: map[string]int{auth: 0}}, {Effective: map[string]int{auth: 1}}, {Effective: map[string]int{auth: 0}}},
		Effective: []tables.EffectivePolicy{
			{Kind: auth, Rules: []tables.EffectiveRule{{Key: "when"}}, Replaced: []tables.Replacement{{How: "default"}}},
			{Kind: auth},
		},
	})
	want := metrics.Inherited{
		Policies: map[[1]string]int{{auth}: 2},
		Enforced: map[[2]string]int{{auth, "true"}: 1, {auth, "false"}: 1},
		Blocks:   map[[3]string]int{{auth, "defaults", "merge"}: 1, {auth, "overrides", "atomic"}: 1},
		Replaced: map[[2]string]int{{auth, "default"}: 2},
		Unset:    map[[1]string]int{{auth}: 2},
		Paths:    map[[2]string]int{{auth, "true"}: 2, {auth, "false"}: 1},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if none := inherited(nil); len(none.Policies)+len(none.Paths) != 0 {
		t.Errorf("of nothing: %+v", none)
	}
}
