package deny

import (
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
)

// FamilyDenyPolicy is the family of deny policies and escalations.
const FamilyDenyPolicy = "denypolicy"

// DenyPolicy is a DenyPolicy of breakglass.t-caas.telekom.com/v1alpha1. Globs
// are well formed and stand as written; lists that are absent are nil.
type DenyPolicy struct {
	syntax.Header               // without a namespace: names are unique over the directory
	Precedence                  int
	Clusters, Tenants, Sessions []string
	EscalationRefs              []syntax.Text
	Rules                       []DenyRule
	Pod                         *PodSecurity // nil without podSecurityRules
}

// DenyRule is one of a DenyPolicy's rules as written.
type DenyRule struct {
	At           diag.Position
	Verbs        []string
	APIGroups    []string
	Resources    []string
	Subresources []string
	// Namespaces is nil where it is absent or empty.
	Namespaces    *NamespaceFilter
	ResourceNames []string
}

// NamespaceFilter is either spelling of a namespace filter. It has a pattern or
// a term.
type NamespaceFilter struct {
	Patterns []string
	Terms    []syntax.Selector
}

// PodSecurity is podSecurityRules. Factors are spelt as in blockFactors,
// capabilities normalised: "hostPID", "capability:NET_ADMIN".
type PodSecurity struct {
	At           diag.Position
	Subresources []string // empty: the default
	Weights      map[string]int
	Thresholds   []Threshold
	BlockFactors []string
	// ExemptNamespaces is nil where it is absent or empty.
	ExemptNamespaces *NamespaceFilter
	ExemptLabels     map[string]string
	FailOpen         bool
}

// Threshold is one of thresholds.
type Threshold struct {
	At       diag.Position
	MaxScore int
	Action   string // allow, warn or deny
	// Reason is the template taken apart; nil where there is none or it is empty.
	Reason []TemplatePart
}

// TemplatePart is a piece of text or, where Variable is set, one of score,
// factors, pod and namespace.
type TemplatePart struct {
	Text     string
	Variable string
}

// BreakglassEscalation is a BreakglassEscalation of
// breakglass.t-caas.telekom.com/v1alpha1, as far as it takes part in decisions.
type BreakglassEscalation struct {
	syntax.Header // without a namespace: requests name an escalation by its name alone
	// Clusters are the globs of allowed.clusters and clusterConfigRefs.
	Clusters       []string
	Groups         []string
	DenyPolicyRefs []syntax.Text
	Override       *PodOverride // nil without podSecurityOverrides
}

// PodOverride is podSecurityOverrides.
type PodOverride struct {
	Enabled         bool
	RequireApproval bool
	MaxAllowedScore *int // nil where absent
	ExemptFactors   []string
	NamespaceScope  *NamespaceFilter // nil: every namespace
}
