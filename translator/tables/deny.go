package tables

// Deny is what deny policies and pod security are decided by. It becomes Rego,
// one file a policy, and is never looked through at a request.
type Deny struct {
	// Policies are in the order they are judged: by precedence, then name.
	Policies []DenyPolicy
	// Escalations are those that override pod security or attach policies, sorted
	// by name.
	Escalations []Escalation
}

// DenyPolicy is a DenyPolicy document.
type DenyPolicy struct {
	Name       string
	Precedence int
	// Source is the file:line of the document.
	Source string
	// Clusters, Tenants, Sessions and EscalationRefs are globs as written; nil or
	// empty is no constraint.
	Clusters, Tenants, Sessions, EscalationRefs []string
	// ReferredBy are the escalations whose denyPolicyRefs list the policy, sorted:
	// under one of them Sessions and EscalationRefs count as held.
	ReferredBy []string
	Rules      []DenyRule
	// Pod is nil without podSecurityRules.
	Pod *PodSecurity
}

// DenyRule is one rule of a DenyPolicy, entries as written.
type DenyRule struct {
	Rule   int
	Source string
	Verbs  []string
	Groups []string
	// Resources may hold the RBAC spelling "pods/exec", "*/scale", "pods/*".
	Resources    []string
	Subresources []string // empty: any
	// Namespaces is nil where any namespace fits.
	Namespaces *NamespaceFilter
	// Names are globs; empty: any.
	Names []string
}

// NamespaceFilter fits a namespace by a glob on its name or by its labels. It
// has at least one pattern or term.
type NamespaceFilter struct {
	Patterns []string
	Terms    [][]LabelRequirement // each the AND of its requirements
}

// LabelRequirement is In, NotIn, Exists or DoesNotExist on one label; matchLabels
// are In with one value.
type LabelRequirement struct {
	Key      string
	Operator string
	Values   []string // sorted
}

// PodSecurity is the podSecurityRules of a policy. A factor is spelt as in
// blockFactors: "hostNetwork", ..., "capability:NAME" with NAME normalised.
type PodSecurity struct {
	Source       string
	Subresources []string // never empty
	// Weights are of the factors that riskFactors names.
	Weights    map[string]int
	Thresholds []Threshold
	// BlockFactors are in the order of the document.
	BlockFactors []string
	// ExemptNamespaces is nil where none is exempt.
	ExemptNamespaces *NamespaceFilter
	ExemptLabels     map[string]string
	FailOpen         bool
}

// Threshold is one of thresholds, in the order of the document.
type Threshold struct {
	MaxScore int
	Action   string // allow, warn or deny
	// Reason is the template taken apart; nil without one.
	Reason []TemplatePart
	Source string
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
	// Clusters are the globs of allowed.clusters and clusterConfigRefs.
	Clusters []string
	// Groups are those of allowed.groups, one of which the requester must have.
	Groups []string
	// ExemptFactors no longer block, spelt as in BlockFactors.
	ExemptFactors []string
	// MaxAllowedScore is nil where absent.
	MaxAllowedScore *int
	// NamespaceScope is nil where every namespace is in scope.
	NamespaceScope *NamespaceFilter
}
