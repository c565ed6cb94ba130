package client_test

import (
	"slices"
	"testing"

	"github.com/writ-policy/writ/client"
)

// The objects of Origin are listed, and shown by their names.
func TestOriginObjects(t *testing.T) {
	c := patient(t, exampleServer().URL)
	roles, err := c.OriginRoles(t.Context(), "hammer", "")
	if err != nil || len(roles) == 0 || len(roles[0].Rules) == 0 || roles[0].Metadata.Namespace != "hammer" {
		t.Fatalf("got %+v, %v", roles, err)
	}
	role, err := c.OriginRoles(t.Context(), "hammer", roles[0].Metadata.Name)
	if err != nil || encoded(t, role) != encoded(t, roles[:1]) {
		t.Errorf("got %+v, %v, want %+v", role, err, roles[:1])
	}
	bindings, err := c.OriginRoleBindings(t.Context(), "hammer", "FatFingeredEditors")
	if err != nil || len(bindings) != 1 || bindings[0].RoleRef.Name != "fatFingeredEditor" || len(bindings[0].UserNames)+len(bindings[0].GroupNames) == 0 {
		t.Errorf("got %+v, %v", bindings, err)
	}
	policies, err := c.OriginPolicies(t.Context(), "hammer", "")
	if err != nil || len(policies) != 1 || len(policies[0].Roles) != len(roles) {
		t.Errorf("got %+v, %v", policies, err)
	}
	if _, err := c.OriginRoles(t.Context(), "hammer", "absent"); err == nil {
		t.Error("a role that does not exist is returned")
	}
}

// The policies of gateways have their conditions.
func TestGatewayPolicies(t *testing.T) {
	c := patient(t, exampleServer().URL)
	all, err := c.GatewayPolicies(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	limits, err := c.GatewayPolicies(t.Context(), "RateLimitPolicy")
	if err != nil || len(limits) == 0 || len(limits) >= len(all) {
		t.Errorf("%d of %d policies are RateLimitPolicies: %v", len(limits), len(all), err)
	}
	for _, p := range all {
		isEnforced := func(c client.GatewayCondition) bool { return c.Type == "Enforced" && c.Reason != "" && c.Message != "" }
		if p.Name == "" || p.Target == "" || p.Source == "" || !slices.ContainsFunc(p.Conditions, isEnforced) {
			t.Errorf("got %+v", p)
		}
	}
	if _, err := c.GatewayPolicies(t.Context(), "Gateway"); err == nil {
		t.Error("an unknown kind is answered")
	}
}
