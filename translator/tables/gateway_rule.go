package tables

// GatewayRule is the part of an AuthPolicy rule that the gateway point evaluates. At most
// one of the pointers is set; if none is, the rule is the policy's own `when`. Rules do
// not contain positions and are immutable after decoding.
type GatewayRule struct {
	// When are the conditions under which the rule applies, all of which must hold.
	When []RequestCondition
	// Priority orders authorization rules and items of the response, lower first.
	Priority int

	Pattern        *GatewayPattern
	Authentication *GatewayAuthentication
	Metadata       *GatewayMetadata
	Authorization  *GatewayAuthorization
	Denial         *GatewayDenial
	Item           *GatewayItem
}

// GatewayPattern is a named list of conditions, all of which must hold.
type GatewayPattern struct{ AllOf []RequestCondition }

// GatewayAuthentication is a rule of rules.authentication.
type GatewayAuthentication struct{ Anonymous bool }

// GatewayMetadata is a rule of rules.metadata. The caller provides its result.
type GatewayMetadata struct{}

// GatewayAuthorization is a rule of rules.authorization. Exactly one of its members
// is set.
type GatewayAuthorization struct {
	Patterns *[]RequestCondition // all must hold; an empty list holds
	Rego     *RegoBody
	Review   *AccessReview
}

// RegoBody is a module body without a package, known to compile as Rego v1.
type RegoBody struct {
	Source    string // Rego v1, without a package clause
	Allows    bool   // a rule may make allow true
	AllValues bool   // the values of all its rules are kept
}

// AccessReview is kubernetesSubjectAccessReview.
type AccessReview struct {
	User                *RequestValue // nil: absent
	Groups              []string
	AuthorizationGroups *RequestValue // nil: absent
	// Resource is resourceAttributes, nil for a review of method and path.
	Resource *ResourceAttributes
}

// ResourceAttributes are the attributes of an access review; nil is absent.
type ResourceAttributes struct {
	Group, Resource, Subresource, Name, Namespace, Verb *RequestValue
}

// GatewayDenial is response.unauthenticated or response.unauthorized.
type GatewayDenial struct {
	Code    int           // zero: the default of the denial
	Message *RequestValue // nil: absent
	Body    *RequestValue // nil: absent
	Headers map[string]RequestValue
}

// GatewayItem is an item below response.success. Without Plain and Properties it has
// no value, because it is signed with a key that writ does not have.
type GatewayItem struct {
	Header bool   // below headers, else below filters
	Key    string // the key in the decision
	Plain  *RequestValue
	// Properties are those of a JSON object, by name; nil for an item of another form.
	Properties map[string]RequestValue
}

// RequestCondition is one condition on a request. Exactly one member is set.
type RequestCondition struct {
	Comparison *Comparison
	Predicate  string // CEL of type bool
	Pattern    string // name of a pattern of the effective policy
	All        []RequestCondition
	Any        []RequestCondition
}

// Comparison compares the value at a path with a text.
type Comparison struct {
	Path     SelectorPath
	Operator string // eq, neq, incl, excl or matches
	Value    string // an RE2 expression for matches
}

// RequestValue is a constant or a value of the request: Template if it is set, else
// Expression if it is set, else Value.
type RequestValue struct {
	Template   *Template
	Expression string // CEL
	Value      any    // JSON as written; nil is null
}

// Template is a selector of a value: a single path, whose value keeps its type, or pieces
// that are joined to a text.
type Template struct {
	Path   *SelectorPath
	Pieces []TemplatePiece
}

// TemplatePiece is a piece of a template: a path, or else text.
type TemplatePiece struct {
	Text string
	Path *SelectorPath
}

// SelectorPath is a dotted path into a request.
type SelectorPath struct {
	// Steps are the names of nested fields. A number is an index in a list, or a name.
	Steps []string
	// Length is true if the path ends in "#", which returns the length of a list.
	Length    bool
	Modifiers []Modifier
}

// Modifier converts the value at a path.
type Modifier struct {
	Name string // extract, case, replace, base64 or strip
	// Text is the argument of case and base64. Sep and Pos belong to extract, Old and
	// New to replace.
	Text     string
	Sep      string
	Pos      int
	Old, New string
}
