package tables

// Deny holds the deny policies and pod security. It is compiled to Rego, one file for each
// policy, and is not read during a request.
type Deny struct {
	// Policies are in the order of evaluation: by precedence, then name.
	Policies []DenyPolicy
	// Escalations are those that override pod security or attach policies, sorted
	// by name.
	Escalations []Escalation
	// Resources are the resources that rules and pod security name, by each lower-case
	// word for the same kind: "pod" and "pods" lead to "pods". Sorted; a resource that
	// is not in lower case has no other word. Nil if no resource is named.
	Resources map[string][]string
}

// DenyPolicy is a DenyPolicy document.
type DenyPolicy struct {
	Name       string
	Precedence int
	// Source is the file:line of the document.
	Source string
	// Clusters, Tenants, Sessions and EscalationRefs limit the scope; a nil or empty list
	// does not.
	Clusters, Tenants, Sessions, EscalationRefs []PathGlob
	// ReferredBy are the escalations whose denyPolicyRefs list the policy, sorted.
	// While one of them is active, Sessions and EscalationRefs match.
	ReferredBy []string
	Rules      []DenyRule
	// Impersonation are the impersonationRules, evaluated after Rules.
	Impersonation []ImpersonationRule
	// Pod is nil without podSecurityRules.
	Pod *PodSecurity
}

// DenyRule is one rule of a DenyPolicy. It denies a resource request that matches one
// of Actions, one of Resources, Namespaces and Names.
type DenyRule struct {
	Rule   int
	Source string
	// Actions and Resources are never empty.
	Actions   []DenyAction
	Resources []DenyResource
	// Namespaces is nil if every namespace matches.
	Namespaces *NamespaceFilter
	// Names is empty if every name matches.
	Names []PathGlob
	// NeedsName states that a request without a name does not match.
	NeedsName bool
}

// ImpersonationRule is one of the impersonationRules of a DenyPolicy. It denies requests
// that match Identity or Action; if both are nil, everything that asks for impersonation,
// verbs that cannot be read included.
type ImpersonationRule struct {
	Rule   int
	Source string
	// Reason is added to the reason of a denial; it may be empty.
	Reason   string
	Identity *ImpersonatedIdentity
	Action   *ImpersonatedAction
}

// ImpersonatedIdentity matches requests that ask whether the caller may take an identity.
type ImpersonatedIdentity struct {
	// Verbs are those of the modes that match, never empty: "impersonate" and
	// "impersonate:MODE".
	Verbs []string
	// Resources is nil if every resource matches.
	Resources []string
	// Names and ExtraKeys match the name and the subresource. They are empty if every
	// value matches, otherwise they contain the literal "*", which stands for several
	// values.
	Names, ExtraKeys []PathGlob
	// Namespaces is nil if every namespace matches.
	Namespaces *NamespaceFilter
}

// ImpersonatedAction matches requests that ask whether the caller may do something while
// impersonating. Their verb is "impersonate-on:MODE:VERB".
type ImpersonatedAction struct {
	// Modes are never empty.
	Modes []string
	// Verbs is nil if every verb matches.
	Verbs []string
	// Resources is empty if every resource and path matches. The resource of a path is
	// empty.
	Resources []DenyResource
	// Groups is nil if every group matches.
	Groups []string
}

// DenyAction is a verb on an API group.
type DenyAction struct {
	// Verbs is nil if every verb with VerbPrefix matches.
	Verbs []string
	// VerbPrefix is the required prefix of the verb, or empty.
	VerbPrefix string
	// Groups is nil if every group matches.
	Groups []string
}

// DenyResource is resources with their subresources.
type DenyResource struct {
	// Resources is nil if every resource matches.
	Resources []string
	// Subresources is nil if every subresource and the main resource match; the entry
	// "" is the main resource.
	Subresources []string
	// NeedsSubresource excludes the main resource.
	NeedsSubresource bool
}

// NamespaceFilter matches a namespace by its name or by its labels. It has at least one
// pattern or term.
type NamespaceFilter struct {
	Patterns []PathGlob
	Terms    [][]LabelRequirement // each the AND of its requirements
}

// LabelRequirement is In, NotIn, Exists or DoesNotExist on one label; matchLabels
// are In with one value.
type LabelRequirement struct {
	Key      string
	Operator string
	Values   []string // sorted
}

// PodSecurity is the podSecurityRules of a policy.
type PodSecurity struct {
	Source       string
	Subresources []string // never empty
	// Factors are the risk factors that the policy evaluates, sorted by name.
	Factors    []RiskFactor
	Thresholds []Threshold
	// BlockFactors are names of Factors, in the order of the document.
	BlockFactors []string
	// ExemptNamespaces is nil if the policy exempts no namespace.
	ExemptNamespaces *NamespaceFilter
	ExemptLabels     map[string]string
	FailOpen         bool
}

// RiskFactor is a property of a pod that adds to its score.
type RiskFactor struct {
	// Name is the name in blockFactors: "hostNetwork", ..., "capability:NAME" with
	// NAME normalised.
	Name string
	// Capability is NAME of a capability, empty for every other factor.
	Capability string
	// Weight is added for each occurrence; 0 for a factor that riskFactors does not
	// name.
	Weight int
}

// Threshold is one of thresholds, in the order of the document.
type Threshold struct {
	MaxScore int
	Action   string // allow, warn or deny
	// Reason is the parsed template, nil if there is none.
	Reason []TemplatePart
}

// TemplatePart is a piece of text or, if Variable is set, one of score, factors, pod,
// namespace.
type TemplatePart struct {
	Text     string
	Variable string
}

// Escalation is the override of a BreakglassEscalation that may be active.
type Escalation struct {
	Name string
	// Source is the file:line of the document.
	Source string
	// Clusters are those of allowed.clusters and clusterConfigRefs.
	Clusters []PathGlob
	// Groups are those of allowed.groups; the requester must have one of them.
	Groups []string
	// ExemptFactors are the names in BlockFactors that do not block.
	ExemptFactors []string
	// MaxAllowedScore is nil if absent.
	MaxAllowedScore *int
	// NamespaceScope is nil if every namespace is in scope.
	NamespaceScope *NamespaceFilter
}
