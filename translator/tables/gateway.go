package tables

import (
	"maps"
	"slices"
)

// The kinds of inherited policies, in the order of their computation, and the kinds that
// they attach to.
const (
	KindAuthPolicy           = "AuthPolicy"
	KindRateLimitPolicy      = "RateLimitPolicy"
	KindTokenRateLimitPolicy = "TokenRateLimitPolicy"
	KindGateway              = "Gateway"
	KindHTTPRoute            = "HTTPRoute"
	KindGRPCRoute            = "GRPCRoute"
)

// TargetKinds are the kinds that inherited policies attach to.
var TargetKinds = []string{KindGateway, KindHTTPRoute, KindGRPCRoute}

// GatewayKinds are the kinds of inherited policies.
var GatewayKinds = []string{KindAuthPolicy, KindRateLimitPolicy, KindTokenRateLimitPolicy}

// LimitKinds are the kinds of inherited policies whose rules are limits.
var LimitKinds = GatewayKinds[1:]

// PolicyVersion returns the API version of a kind of inherited policies.
func PolicyVersion(kind string) string {
	if kind == KindTokenRateLimitPolicy {
		return "kuadrant.io/v1alpha1"
	}
	return "kuadrant.io/v1"
}

// PolicyTargets returns the kinds that inherited policies of a kind attach to.
func PolicyTargets(kind string) []string {
	if kind == KindTokenRateLimitPolicy {
		return TargetKinds[:2] // Kuadrant does not count the tokens of gRPC
	}
	return TargetKinds
}

// The types, statuses and reasons of a policy's conditions.
const (
	ConditionAccepted = "Accepted"
	ConditionEnforced = "Enforced"
	StatusTrue        = "True"
	StatusFalse       = "False"

	ReasonAccepted          = "Accepted"
	ReasonEnforced          = "Enforced"
	ReasonPartiallyEnforced = "PartiallyEnforced"
	ReasonOverridden        = "Overridden"
	ReasonUnknown           = "Unknown"
)

// Gateway holds the tables of the gateway point, from which effective policies are also
// shown, in the form that goes into a bundle. Equal documents give equal tables.
type Gateway struct {
	// Gateways and Routes are sorted by namespace and name, routes of one name by kind.
	Gateways []GatewayObject `json:"gateways"`
	Routes   []GatewayRoute  `json:"routes"`
	// Paths are in path order: gateway, listener, route, rule.
	Paths []GatewayPath `json:"paths"`
	// Effective are the effective policies of paths, gateways and listeners, without
	// duplicates, in the order of their first reference.
	Effective []EffectivePolicy `json:"effective"`
	// Policies are all policies by kind, namespace and name.
	Policies []GatewayPolicy `json:"policies"`
}

// GatewayObject is a Gateway. Effective is, by kind, the index of the fold of the
// gateway's own policies.
type GatewayObject struct {
	Namespace string            `json:"namespace"`
	Name      string            `json:"name"`
	Source    string            `json:"source,omitempty"` // file:line
	Listeners []GatewayListener `json:"listeners"`
	Effective map[string]int    `json:"effective"`
}

// GatewayListener is a listener. Effective is, by kind, the index of the fold of
// the gateway's and the listener's policies.
type GatewayListener struct {
	Name      string         `json:"name"`
	Source    string         `json:"source,omitempty"`   // file:line
	Hostname  string         `json:"hostname,omitempty"` // lower case
	Port      int            `json:"port"`
	Protocol  string         `json:"protocol"`
	Effective map[string]int `json:"effective"`
}

// GatewayRoute is an HTTPRoute or a GRPCRoute.
type GatewayRoute struct {
	Kind      string             `json:"kind"`
	Namespace string             `json:"namespace"`
	Name      string             `json:"name"`
	Hostnames []string           `json:"hostnames,omitempty"` // lower case; empty: every host
	Rules     []GatewayRouteRule `json:"rules"`
	// Created is the rank of the creation time among the routes. Equal times have
	// the same rank, and a route without a timestamp has the last rank.
	Created int `json:"created"`
	// Cluster is true for a route that was read from a cluster. Its creation time is from
	// the API server, so it is compared across namespaces with other such routes.
	Cluster bool `json:"cluster,omitempty"`
}

// GatewayRouteRule is a rule of a route.
type GatewayRouteRule struct {
	Name    string         `json:"name"`
	Source  string         `json:"source,omitempty"` // file:line
	Matches []GatewayMatch `json:"matches"`
}

// GatewayMatch is one alternative of a rule. A request must match all of its fields. A
// GRPCRoute has only GRPC and Headers; without GRPC, each request of gRPC matches.
type GatewayMatch struct {
	GRPC     *GatewayGRPCMethod  `json:"grpc,omitempty"`
	PathType string              `json:"pathType,omitempty"`
	Path     string              `json:"path,omitempty"`
	Method   string              `json:"method,omitempty"`
	Headers  []GatewayValueMatch `json:"headers,omitempty"`
	Query    []GatewayValueMatch `json:"query,omitempty"`
}

// GatewayGRPCMethod matches the service and the method of a request of gRPC. An empty one
// matches all.
type GatewayGRPCMethod struct {
	Type    string `json:"type"`
	Service string `json:"service,omitempty"`
	Method  string `json:"method,omitempty"`
}

// GatewayValueMatch matches a header or a query parameter.
type GatewayValueMatch struct {
	Type  string `json:"type"`
	Name  string `json:"name"`
	Value string `json:"value"`
}

// GatewayPath is one path of traffic. The numbers are indexes in Gateways, the gateway's
// listeners, Routes and the route's rules.
type GatewayPath struct {
	Gateway  int `json:"gateway"`
	Listener int `json:"listener"`
	Route    int `json:"route"`
	Rule     int `json:"rule"`
	// Effective is, by kind, the index of the path's effective policy.
	Effective map[string]int `json:"effective"`
}

// EffectivePolicy is the result of folding the policies of a path.
type EffectivePolicy struct {
	Kind string `json:"kind"`
	// Rules are sorted by key.
	Rules []EffectiveRule `json:"rules"`
	// Policies are the locators of all policies of the path, highest first.
	Policies []string      `json:"policies"`
	Replaced []Replacement `json:"replaced"`
	// Steps are evaluated by the gateway point. Steps is nil for a policy that restricts
	// nothing, which has only conditions and patterns, and for kinds that the gateway point
	// does not read.
	Steps *GatewaySteps `json:"steps,omitempty"`
}

// EffectiveRule is a rule in force.
type EffectiveRule struct {
	Key    string `json:"key"`
	Policy string `json:"policy"` // locator of its policy
	Source string `json:"source"` // file:line of the rule
	Value  any    `json:"value"`  // as written
	// Override reports whether the rule is from an overrides block.
	Override bool `json:"override,omitempty"`
}

// Replacement is a rule that another rule replaced.
type Replacement struct {
	Rule   string   `json:"rule"`
	Policy string   `json:"policy"`
	How    string   `json:"how"`
	By     []string `json:"by"`
	Source string   `json:"source"` // file:line of the replaced rule
	// Value is that of the replaced rule, as written.
	Value any `json:"value,omitempty"`
}

// GatewayPolicy is a policy and its status over all paths.
type GatewayPolicy struct {
	Kind       string             `json:"kind"`
	Namespace  string             `json:"namespace"`
	Name       string             `json:"name"`
	Target     string             `json:"target"` // target string
	Level      int                `json:"level"`
	Source     string             `json:"source"`
	Conditions []GatewayCondition `json:"conditions"`
	Blocks     []GatewayBlock     `json:"blocks"`
	Unset      []string           `json:"unset,omitempty"`
}

// GatewayBlock is the part of a block that metrics report.
type GatewayBlock struct {
	Block    string `json:"block"`
	Strategy string `json:"strategy"`
}

// GatewayCondition is a condition of a policy's or a target's status.
type GatewayCondition struct {
	Message string `json:"message"`
	Reason  string `json:"reason"`
	Status  string `json:"status"`
	Type    string `json:"type"`
}

// Rejection is the reason why a policy is not accepted. The zero value means that it is
// accepted.
type Rejection string

// The reasons for rejecting a policy.
const (
	Conflicted     Rejection = "Conflicted"
	TargetNotFound Rejection = "TargetNotFound"
	Invalid        Rejection = "Invalid"
)

// EachText calls visit with each text in the value of a rule, as written: elements of lists in
// order, members of mappings by key.
func EachText(value any, visit func(text string)) {
	switch v := value.(type) {
	case string:
		visit(v)
	case []any:
		for _, e := range v {
			EachText(e, visit)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			EachText(v[key], visit)
		}
	}
}
