package tables

// GatewayRule is the part of an AuthPolicy rule that the gateway point evaluates. At most
// one of the pointers is set; if none is, the rule is the policy's own `when`. Rules do
// not contain positions and are immutable after decoding. The JSON form is part of a bundle,
// for the engine and to emit its Rego again; it has no Rego of authors.
type GatewayRule struct {
	// When are the conditions under which the rule applies, all of which must hold.
	When []RequestCondition `json:"when,omitempty"`
	// Priority orders authorization rules and items of the response, lower first.
	Priority int `json:"priority,omitempty"`

	Pattern        *GatewayPattern        `json:"pattern,omitempty"`
	Authentication *GatewayAuthentication `json:"authentication,omitempty"`
	Metadata       *GatewayMetadata       `json:"metadata,omitempty"`
	Authorization  *GatewayAuthorization  `json:"authorization,omitempty"`
	Denial         *GatewayDenial         `json:"denial,omitempty"`
	Item           *GatewayItem           `json:"item,omitempty"`
}

// GatewayPattern is a named list of conditions, all of which must hold.
type GatewayPattern struct {
	AllOf []RequestCondition `json:"allOf,omitempty"`
}

// GatewayAuthentication is a rule of rules.authentication.
type GatewayAuthentication struct {
	Anonymous bool `json:"anonymous,omitempty"`
}

// GatewayMetadata is a rule of rules.metadata. The caller provides its result.
type GatewayMetadata struct{}

// GatewayAuthorization is a rule of rules.authorization. Exactly one of its members
// is set.
type GatewayAuthorization struct {
	Patterns *[]RequestCondition `json:"patterns,omitempty"` // all must hold; an empty list holds
	Rego     *RegoBody           `json:"rego,omitempty"`
	Review   *AccessReview       `json:"review,omitempty"`
}

// RegoBody is a module body without a package, known to compile as Rego v1.
type RegoBody struct {
	Source    string `json:"-"`                   // Rego v1, without a package clause
	Allows    bool   `json:"allows,omitempty"`    // a rule may make allow true
	AllValues bool   `json:"allValues,omitempty"` // the values of all its rules are kept
}

// AccessReview is kubernetesSubjectAccessReview.
type AccessReview struct {
	User                *RequestValue `json:"user,omitempty"` // nil: absent
	Groups              []string      `json:"groups,omitempty"`
	AuthorizationGroups *RequestValue `json:"authorizationGroups,omitempty"` // nil: absent
	// Resource is resourceAttributes, nil for a review of method and path.
	Resource *ResourceAttributes `json:"resource,omitempty"`
}

// ResourceAttributes are the attributes of an access review; nil is absent.
type ResourceAttributes struct {
	Group       *RequestValue `json:"group,omitempty"`
	Resource    *RequestValue `json:"resource,omitempty"`
	Subresource *RequestValue `json:"subresource,omitempty"`
	Name        *RequestValue `json:"name,omitempty"`
	Namespace   *RequestValue `json:"namespace,omitempty"`
	Verb        *RequestValue `json:"verb,omitempty"`
}

// GatewayDenial is response.unauthenticated or response.unauthorized.
type GatewayDenial struct {
	Code    int                     `json:"code,omitempty"`    // zero: the default of the denial
	Message *RequestValue           `json:"message,omitempty"` // nil: absent
	Body    *RequestValue           `json:"body,omitempty"`    // nil: absent
	Headers map[string]RequestValue `json:"headers,omitempty"`
}

// GatewayItem is an item below response.success. Without Plain and Properties it has
// no value, because it is signed with a key that writ does not have.
type GatewayItem struct {
	Header bool          `json:"header,omitempty"` // below headers, else below filters
	Key    string        `json:"key"`              // the key in the decision
	Plain  *RequestValue `json:"plain,omitempty"`
	// Properties are those of a JSON object, by name; nil for an item of another form.
	Properties map[string]RequestValue `json:"properties,omitzero"`
}

// RequestCondition is one condition on a request. Exactly one member is set.
type RequestCondition struct {
	Comparison *Comparison        `json:"comparison,omitempty"`
	Predicate  string             `json:"predicate,omitempty"` // CEL of type bool
	Pattern    string             `json:"pattern,omitempty"`   // name of a pattern of the effective policy
	All        []RequestCondition `json:"all,omitzero"`
	Any        []RequestCondition `json:"any,omitzero"`
}

// Comparison compares the value at a path with a text.
type Comparison struct {
	Path     SelectorPath `json:"path"`
	Operator string       `json:"operator"` // eq, neq, incl, excl or matches
	Value    string       `json:"value"`    // an RE2 expression for matches
}

// RequestValue is a constant or a value of the request: Template if it is set, else
// Expression if it is set, else Value.
type RequestValue struct {
	Template   *Template `json:"template,omitempty"`
	Expression string    `json:"expression,omitempty"` // CEL
	Value      any       `json:"value,omitempty"`      // JSON as written; nil is null
}

// Template is a selector of a value: a single path, whose value keeps its type, or pieces
// that are joined to a text.
type Template struct {
	Path   *SelectorPath   `json:"path,omitempty"`
	Pieces []TemplatePiece `json:"pieces,omitempty"`
}

// TemplatePiece is a piece of a template: a path, or else text.
type TemplatePiece struct {
	Text string        `json:"text,omitempty"`
	Path *SelectorPath `json:"path,omitempty"`
}

// SelectorPath is a dotted path into a request.
type SelectorPath struct {
	// Steps are the names of nested fields. A number is an index in a list, or a name.
	Steps []string `json:"steps"`
	// Length is true if the path ends in "#", which returns the length of a list.
	Length    bool       `json:"length,omitempty"`
	Modifiers []Modifier `json:"modifiers,omitempty"`
}

// Modifier converts the value at a path.
type Modifier struct {
	Name string `json:"name"` // extract, case, replace, base64 or strip
	// Text is the argument of case and base64. Sep and Pos belong to extract, Old and
	// New to replace.
	Text string `json:"text,omitempty"`
	Sep  string `json:"sep,omitempty"`
	Pos  int    `json:"pos,omitempty"`
	Old  string `json:"old,omitempty"`
	New  string `json:"new,omitempty"`
}
