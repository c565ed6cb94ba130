package document

import (
	"time"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// FamilyGateway is the family of gateways, routes and the policies on them.
const FamilyGateway = "gateway"

// Gateway is a Gateway of gateway.networking.k8s.io/v1, as far as it is read.
type Gateway struct {
	syntax.Header
	Listeners []Listener
}

// Listener is one of a Gateway's listeners.
type Listener struct {
	At       diag.Position
	Name     syntax.Text
	Hostname string // lower case; empty: every host
	Port     int
	Protocol string
	// From is allowedRoutes.namespaces.from: Same, All, None or Selector; the
	// default is written out. Namespaces is the selector on the namespace's name,
	// with From Selector only.
	From       string
	Namespaces *syntax.Selector
	// Kinds are allowedRoutes.kinds, "GROUP/KIND" for other groups than this one;
	// empty allows every kind of route.
	Kinds []string
}

// Route is an HTTPRoute or a GRPCRoute of gateway.networking.k8s.io/v1, as far as it is
// read.
type Route struct {
	syntax.Header
	// Created is metadata.creationTimestamp, nil without: that of the API server in an
	// object of a cluster, and whatever the author wrote in a file.
	Created   *time.Time
	Parents   []ParentRef
	Hostnames []string // lower case
	Rules     []RouteRule
}

// ParentRef is one of a route's parentRefs.
type ParentRef struct {
	At        diag.Position
	Kind      syntax.Text // the default is written out
	Namespace syntax.Text // the route's own unless written
	Name      syntax.Text
	Section   syntax.Text // empty: every listener
	Port      int         // zero: any
}

// RouteRule is one rule of a route. Its name is generated where it has none. An
// HTTPRoute that says nothing of rules has one, a GRPCRoute none.
type RouteRule struct {
	At   diag.Position
	Name string
	// Matches are never empty: no match means the prefix "/", in a GRPCRoute every
	// request of gRPC.
	Matches []RouteMatch
}

// RouteMatch is one way for a request to fit a route's rule; all of it must. Those of a
// GRPCRoute have only GRPC and Headers.
type RouteMatch struct {
	GRPC     *GRPCMethod // nil: any method of gRPC, or the match of an HTTPRoute
	PathType string      // Exact, PathPrefix or RegularExpression
	Path     string
	Method   string // empty: any
	Headers  []ValueMatch
	Query    []ValueMatch
}

// GRPCMethod matches the service and the method of a request of gRPC. An empty one
// matches all.
type GRPCMethod struct {
	Type    string // Exact or RegularExpression
	Service string
	Method  string
}

// ValueMatch matches a header (name in lower case) or a query parameter.
type ValueMatch struct {
	Type  string // Exact or RegularExpression
	Name  string
	Value string
}

// InheritedPolicy is an AuthPolicy, a RateLimitPolicy or a TokenRateLimitPolicy of
// kuadrant.io.
type InheritedPolicy struct {
	syntax.Header
	Created *time.Time // metadata.creationTimestamp, nil without
	Target  Target
	// Blocks are the defaults or the bare set, then the overrides, those present.
	Blocks []Block
	// Unset are rule keys, each once, in document order.
	Unset []syntax.Text
	// Mistaken says that the document has errors, whose values are left out.
	Mistaken bool
}

// Target is what a policy is attached to, in its own namespace.
type Target struct {
	At      diag.Position
	Kind    string // one of tables.PolicyTargets; empty where the target has mistakes
	Name    syntax.Text
	Section syntax.Text // empty: the object as a whole
}

// Names of blocks.
const (
	BlockBare      = "bare"
	BlockDefaults  = "defaults"
	BlockOverrides = "overrides"
)

// Block is one block of an InheritedPolicy. The bare set is an atomic default
// without a condition.
type Block struct {
	At    diag.Position // its key; that of spec for the bare set
	Name  string
	Merge bool // strategy merge; else atomic
	// When is the merge condition in CEL, which is known to parse and to be a
	// truth value; nil without.
	When *syntax.Text
	// Rules are sorted by key, each key once.
	Rules []InheritedRule
}

// InheritedRule is one rule of a block.
type InheritedRule struct {
	// Key is the path of the rule below spec: "rules.authentication.NAME",
	// "patterns.NAME", "when", "limits.NAME" and so on.
	Key string
	At  diag.Position // its name's
	// Value is the rule as written: JSON values, numbers as json.Number.
	Value any
	// Rule is what the gateway point evaluates of it; nil for callbacks and limits,
	// which it does not read. A rule with mistakes has its type, without what they
	// are in.
	Rule *tables.GatewayRule
	// PatternRefs are the references to patterns in its conditions.
	PatternRefs []syntax.Text
}
