package document

import (
	"time"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
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
	// empty allows HTTPRoute.
	Kinds []string
}

// HTTPRoute is an HTTPRoute of gateway.networking.k8s.io/v1, as far as it is read.
type HTTPRoute struct {
	syntax.Header
	Created   *time.Time // metadata.creationTimestamp, nil without
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

// RouteRule is one rule of a route. Its name is generated where it has none. A
// route that says nothing of rules has one.
type RouteRule struct {
	At      diag.Position
	Name    string
	Matches []RouteMatch // never empty: no match means the prefix "/"
}

// RouteMatch is one way for a request to fit a route's rule; all of it must.
type RouteMatch struct {
	PathType string // Exact, PathPrefix or RegularExpression
	Path     string
	Method   string // empty: any
	Headers  []ValueMatch
	Query    []ValueMatch
}

// ValueMatch matches a header (name in lower case) or a query parameter.
type ValueMatch struct {
	Type  string // Exact or RegularExpression
	Name  string
	Value string
}

// InheritedPolicy is an AuthPolicy or a RateLimitPolicy of kuadrant.io/v1.
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
	Kind    string // Gateway or HTTPRoute; empty where the target has mistakes
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
	// Meaning is what the gateway point reads of it, nil where it reads nothing
	// (callbacks, limits). A rule with mistakes has a meaning of its type without
	// what they are in: *Authentication, *Metadata, *Authorization, *Denial,
	// *SuccessItem, *Pattern or *When.
	Meaning any
}

// Condition is one item of a list of conditions. Exactly one of Operator,
// Predicate, PatternRef, All and Any is set.
type Condition struct {
	At         diag.Position
	Selector   string
	Operator   string // eq, neq, incl, excl or matches
	Value      string
	Predicate  *syntax.Text // CEL of type bool
	PatternRef *syntax.Text
	All        []Condition // not nil where it is the one
	Any        []Condition
}

// Value is a value that is written out or found in the request. Exactly one of
// its members counts, the first that is set; none gives null.
type Value struct {
	At         diag.Position
	Selector   *syntax.Text // a path or, with "{...}" in it, a template
	Expression *syntax.Text // CEL
	Value      any          // as written: JSON
}

// When is the request-time conditions of a policy.
type When struct{ Conditions []Condition }

// Pattern is a named list of conditions, all of which must hold.
type Pattern struct{ AllOf []Condition }

// Authentication is a rule of rules.authentication.
type Authentication struct {
	When      []Condition
	Priority  int
	Method    string
	Anonymous bool
}

// Metadata is a rule of rules.metadata: the caller fetches it.
type Metadata struct {
	When     []Condition
	Priority int
	Method   string
}

// Authorization is a rule of rules.authorization. Exactly one of Patterns, Rego
// and Review is set.
type Authorization struct {
	When     []Condition
	Priority int
	Patterns *[]Condition
	Rego     *RegoBody
	Review   *AccessReview
}

// RegoBody is a module body without a package, known to compile as Rego v1.
type RegoBody struct {
	At        diag.Position
	Source    string // Rego v1, without a package clause
	Allows    bool   // some rule of it may make allow true
	AllValues bool
}

// AccessReview is kubernetesSubjectAccessReview.
type AccessReview struct {
	User                *Value // nil: absent
	Groups              []string
	AuthorizationGroups *Value
	// Resource is resourceAttributes, nil for a review of method and path. Its
	// members are nil where absent.
	Resource *ResourceAttributes
}

// ResourceAttributes are what an access review asks about.
type ResourceAttributes struct {
	Group, Resource, Subresource, Name, Namespace, Verb *Value
}

// Denial is response.unauthenticated or response.unauthorized.
type Denial struct {
	Code    int // zero: not said
	Message *Value
	Body    *Value
	Headers map[string]Value
}

// SuccessItem is an item below response.success.
type SuccessItem struct {
	When     []Condition
	Priority int
	Key      string // as said, else empty: the item's name
	Method   string // plain, json or wristband
	Plain    *Value
	// Properties are of json, by name.
	Properties map[string]Value
}
