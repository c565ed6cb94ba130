package client

import (
	"context"
	"net/http"
	"net/url"
)

// OriginRule is a rule of an Origin role.
type OriginRule struct {
	// Deny means that the rule denies what it matches.
	Deny bool `json:"deny"`
	// Verbs and ResourceKinds are in lower case; those that are excluded begin with "-".
	Verbs         []string `json:"verbs"`
	ResourceKinds []string `json:"resourceKinds"`
	// AttributeRestrictions limit the rule to some requests; nil without.
	AttributeRestrictions map[string]any `json:"attributeRestrictions"`
}

// OriginName names an object of Origin.
type OriginName struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
}

// OriginRole is a Role of Origin.
type OriginRole struct {
	Metadata OriginName   `json:"metadata"`
	Rules    []OriginRule `json:"rules"`
}

// OriginRoleBinding is a RoleBinding of Origin.
type OriginRoleBinding struct {
	Metadata   OriginName `json:"metadata"`
	RoleRef    OriginName `json:"roleRef"`
	UserNames  []string   `json:"userNames"`
	GroupNames []string   `json:"groupNames"`
}

// OriginPolicy has all roles of a namespace, by name. A namespace has one or none.
type OriginPolicy struct {
	Metadata OriginName `json:"metadata"`
	Roles    map[string]struct {
		Rules []OriginRule `json:"rules"`
	} `json:"roles"`
}

// OriginRoles lists the Origin roles of a namespace, for auditors. A name that is not empty
// selects one; it is an error if the namespace does not have it.
func (c *Client) OriginRoles(ctx context.Context, namespace, name string) ([]OriginRole, error) {
	return originObjects[OriginRole](ctx, c, namespace, "roles", name)
}

// OriginRoleBindings is OriginRoles for role bindings.
func (c *Client) OriginRoleBindings(ctx context.Context, namespace, name string) ([]OriginRoleBinding, error) {
	return originObjects[OriginRoleBinding](ctx, c, namespace, "roleBindings", name)
}

// OriginPolicies is OriginRoles for the policy, whose name is "default".
func (c *Client) OriginPolicies(ctx context.Context, namespace, name string) ([]OriginPolicy, error) {
	return originObjects[OriginPolicy](ctx, c, namespace, "policies", name)
}

func originObjects[T any](ctx context.Context, c *Client, namespace, resource, name string) ([]T, error) {
	path := originPath(namespace, resource)
	if name != "" {
		one, err := answer[T](ctx, c, http.MethodGet, path+"/"+url.PathEscape(name), nil)
		if err != nil {
			return nil, err
		}
		return []T{one}, nil
	}
	list, err := answer[struct{ Items []T }](ctx, c, http.MethodGet, path, nil)
	return list.Items, err
}

// GatewayPolicy is a policy on a gateway or a route, with its conditions over all paths.
type GatewayPolicy struct {
	Kind       string             `json:"kind"`
	Namespace  string             `json:"namespace"`
	Name       string             `json:"name"`
	Target     string             `json:"target"` // such as HTTPRoute/shop/api#rule-1
	Source     string             `json:"source"` // FILE:LINE
	Conditions []GatewayCondition `json:"conditions"`
}

// GatewayCondition is a condition of the status of a policy: of type Accepted or Enforced.
type GatewayCondition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// GatewayPolicies lists the policies of a kind, such as AuthPolicy, with their conditions,
// for auditors. An empty kind is all kinds.
func (c *Client) GatewayPolicies(ctx context.Context, kind string) ([]GatewayPolicy, error) {
	path := "/v1/effective"
	if kind != "" {
		path += "?kind=" + url.QueryEscape(kind)
	}
	return answer[[]GatewayPolicy](ctx, c, http.MethodGet, path, nil)
}
