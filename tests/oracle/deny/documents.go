package deny

import (
	"time"

	"github.com/writ-policy/writ/tests/oracle"
)

// Version is the API version of the family of deny policies.
const Version = "breakglass.t-caas.telekom.com/v1alpha1"

// Policy is a DenyPolicy. A nil precedence is the default.
type Policy struct {
	Name           string
	Precedence     *int
	Clusters       []string
	Tenants        []string
	Sessions       []string
	EscalationRefs []string
	Rules          []*Rule
	Impersonation  []*ImpersonationRule
	PodSecurity    *PodRules
	Dates          oracle.Dates
}

// Rule is one of a policy's rules, its entries as written.
type Rule struct {
	Verbs, APIGroups, Resources, Subresources []string
	Namespaces                                Filter
	ResourceNames                             []string
	Source                                    string
}

// Filter selects namespaces, by globs over names or by terms over labels. A
// term is written like any other label selector.
type Filter struct {
	Patterns []string
	Terms    []oracle.Selector
}

// PodRules are podSecurityRules.
type PodRules struct {
	// Subresources are those of appliesTo; none means the usual three.
	Subresources []string
	// Weights are riskFactors without the capabilities.
	Weights      map[string]int
	Capabilities map[string]int
	Thresholds   []Threshold
	BlockFactors []string
	// ExemptNamespaces and ExemptLabels are the exemptions.
	ExemptNamespaces Filter
	ExemptLabels     map[string]string
	// FailMode is closed, open, or empty, which is closed.
	FailMode string
	Source   string
}

// Threshold states what happens up to a score. The reason may be empty.
type Threshold struct {
	MaxScore int
	Action   string
	Reason   string
}

// Escalation is a BreakglassEscalation, as far as it decides anything.
type Escalation struct {
	Namespace, Name   string
	Clusters, Groups  []string // of allowed
	ClusterConfigRefs []string
	DenyPolicyRefs    []string
	Overrides         *Overrides
}

// Overrides are podSecurityOverrides.
type Overrides struct {
	Enabled         bool
	RequireApproval bool
	// MaxAllowedScore is nil where none is given.
	MaxAllowedScore *int
	ExemptFactors   []string
	NamespaceScope  Filter
}

// Denials are the documents of the family. They are what a World denies by.
type Denials struct {
	DenyPolicies []*Policy
	Escalations  []*Escalation
	// Tenants are those of ClusterConfigs, by cluster. Some have none.
	Tenants  map[string]string
	Sessions []*oracle.Session
	Debug    []*oracle.Debug
	// Now is the time of decisions.
	Now time.Time
}
