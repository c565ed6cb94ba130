package console

import "github.com/writ-policy/writ/translator/gateway/effective"

// Effective is the effective policy of a target; its Each returns the variants.
type Effective = effective.Effective

// Variant is an effective policy with the paths that have it.
type Variant = effective.Variant

// Replaced is a rule that is not in force.
type Replaced = effective.Replaced

// Topology is gateways, listeners, routes and their rules as a graph.
type Topology struct {
	// Gateways are the gateways of the revision as NS/NAME.
	Gateways []string `json:"gateways"`
	Nodes    []Node   `json:"nodes"`
	// Edges are pairs of node IDs.
	Edges [][2]string `json:"edges"`
}

// Node is a gateway, listener, route or rule.
type Node struct {
	// ID is the target of effective policies: KIND/NS/NAME or KIND/NS/NAME#SECTION.
	ID   string `json:"id"`
	Kind string `json:"kind"` // Gateway, Listener, HTTPRoute, GRPCRoute or Rule
	Name string `json:"name"`
	// Shows is what the node matches: host names, methods and paths.
	Shows string `json:"shows"`
	// Column is 0 for a gateway, 1 for a listener, 2 for a route, 3 for a rule.
	Column   int          `json:"column"`
	Policies []NodePolicy `json:"policies"`
	// Effective is, by kind of policy, a number that is equal for equal effective
	// policies.
	Effective map[string]int `json:"effective"`
}

// NodePolicy is a policy that targets a node.
type NodePolicy struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Source    string `json:"source"`
	// Forms are the blocks of the policy, as "defaults, atomic" or "overrides, merge".
	Forms []string `json:"forms"`
	// Enforced reports whether it is in force somewhere; Status is why not.
	Enforced bool   `json:"enforced"`
	Status   string `json:"status,omitempty"`
}
