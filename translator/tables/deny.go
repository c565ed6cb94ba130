package tables

// Deny is what deny policies and pod security are decided by. It becomes Rego,
// one file a policy, and is never looked through at a request.
type Deny struct {
	// Policies are in the order they are judged: by precedence, then name.
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
	// ReferredBy are the escalations whose denyPolicyRefs list the policy, sorted:
	// under one of them Sessions and EscalationRefs count as held.
	ReferredBy []string
	Rules      []DenyRule
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
	// Namespaces is nil where any namespace fits.
	Namespaces *NamespaceFilter
	// Names is empty where any name fits.
	Names []PathGlob
	// NeedsName states that a request without a name does not match.
	NeedsName bool
}

// DenyAction is a verb on an API group.
type DenyAction struct {
	// Verbs is nil where any verb with VerbPrefix fits.
	Verbs []string
	// VerbPrefix is what the verb must begin with; empty: no such condition.
	VerbPrefix string
	// Groups is nil where any group fits.
	Groups []string
}

// DenyResource is resources with their subresources.
type DenyResource struct {
	// Resources is nil where any resource fits.
	Resources []string
	// Subresources is nil where any subresource fits, also the main resource; the
	// entry "" is the main resource.
	Subresources []string
	// NeedsSubresource excludes the main resource.
	NeedsSubresource bool
}

// NamespaceFilter fits a namespace by its name or by its labels. It has at least one
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
	// Name is spelt as in blockFactors: "hostNetwork", ..., "capability:NAME" with
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
	// Reason is the parsed template; nil without one.
	Reason []TemplatePart
}

// TemplatePart is a piece of text, or, where Variable is set, one of score,
// factors, pod, namespace.
type TemplatePart struct {
	Text     string
	Variable string
}

// Escalation is the override of a BreakglassEscalation that may be in force.
type Escalation struct {
	Name string
	// Source is the file:line of the document.
	Source string
	// Clusters are those of allowed.clusters and clusterConfigRefs.
	Clusters []PathGlob
	// Groups are those of allowed.groups, one of which the requester must have.
	Groups []string
	// ExemptFactors no longer block, spelt as in BlockFactors.
	ExemptFactors []string
	// MaxAllowedScore is nil where absent.
	MaxAllowedScore *int
	// NamespaceScope is nil where every namespace is in scope.
	NamespaceScope *NamespaceFilter
}
