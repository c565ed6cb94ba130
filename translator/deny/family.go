package deny

import (
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// family is the family of deny policies and escalations.
const family = "denypolicy"

// DenyPolicy is a DenyPolicy of breakglass.t-caas.telekom.com/v1alpha1. Lists that
// are absent are nil.
type DenyPolicy struct {
	syntax.Header // without a namespace: names are unique over the directory
	Precedence    int
	// AppliesTo are the lists of tables.ScopeAttributes; EscalationRefs are one of them.
	AppliesTo      [len(tables.ScopeAttributes)][]tables.PathGlob
	EscalationRefs []EscalationRef
	Rules          []DenyRule
	Impersonation  []ImpersonationRule
	Pod            *PodSecurity // nil without podSecurityRules
	Dates          syntax.Dates
}

// EscalationRef is an entry of escalationRefs, as written and parsed.
type EscalationRef struct {
	syntax.Text
	Glob tables.PathGlob
}

// DenyRule is one of a DenyPolicy's rules as written.
type DenyRule struct {
	At           diag.Position
	Verbs        []string
	APIGroups    []string
	Resources    []string
	Subresources []string
	// Namespaces is nil where it is absent or empty.
	Namespaces    *tables.NamespaceFilter
	ResourceNames []tables.PathGlob
}

// ImpersonationRule is one of impersonationRules as written. Lists that give no
// condition are empty.
type ImpersonationRule struct {
	At                diag.Position
	Modes             []string
	IdentityResources []string
	Identities        []tables.PathGlob
	ExtraKeys         []tables.PathGlob
	Namespaces        *tables.NamespaceFilter // nil where it is absent or empty
	ActionVerbs       []string
	TargetResources   []string
	TargetAPIGroups   []string
	Reason            string
}

// PodSecurity is podSecurityRules. Factors are spelt as in blockFactors,
// capabilities normalised: "hostPID", "capability:NET_ADMIN".
type PodSecurity struct {
	At           diag.Position
	Subresources []string // empty: the default
	Weights      map[string]int
	Thresholds   []tables.Threshold
	BlockFactors []string
	// ExemptNamespaces is nil where it is absent or empty.
	ExemptNamespaces *tables.NamespaceFilter
	ExemptLabels     map[string]string
	FailOpen         bool
}

// BreakglassEscalation is a BreakglassEscalation of
// breakglass.t-caas.telekom.com/v1alpha1, as far as it takes part in decisions.
type BreakglassEscalation struct {
	syntax.Header  // without a namespace: requests name an escalation by its name alone
	EscalatedGroup string
	// Clusters are those of allowed.clusters and clusterConfigRefs.
	Clusters       []tables.PathGlob
	Groups         []string
	DenyPolicyRefs []syntax.Text
	Override       *PodOverride // nil without podSecurityOverrides
	// Approvers are users and groups, and Hidden the entries of hiddenFromUI, which are
	// not approvers by that.
	Approvers struct{ Users, Groups, Hidden []syntax.Text }
	// Domains are allowedApproverDomains. SelfApproval is nil without blockSelfApproval.
	Domains      []string
	SelfApproval *bool
	// RequesterProviders and ApproverProviders are nil if any provider is permitted.
	RequesterProviders, ApproverProviders []syntax.Text
	// Ready is the condition of that type of an object of a cluster, nil without it.
	Ready *bool
}

// PodOverride is podSecurityOverrides.
type PodOverride struct {
	Enabled         bool
	RequireApproval bool
	MaxAllowedScore *int // nil where absent
	ExemptFactors   []string
	NamespaceScope  *tables.NamespaceFilter // nil: every namespace
}

// Family is deny policies and escalations. The zero value has seen no documents. It is not safe
// for concurrent use.
type Family struct {
	unchanged directory.Unchanged
	table     *tables.Deny
}

// Kinds returns the kinds of the family.
func (*Family) Kinds() syntax.Kinds { return kinds }

// NewTable returns an empty table.
func (*Family) NewTable() tables.Table { return new(tables.Deny) }

// Lower returns the table of the documents: that of the last directory, the same value, if no
// deny policy and no escalation has changed.
func (f *Family) Lower(d *directory.Directory) (tables.Table, diag.List) {
	if !f.unchanged.Holds(d, isRead) {
		began := d.Mark()
		f.table = lower(resolve(d))
		f.unchanged.Keep(d, began)
	}
	return f.table, nil
}

// isRead reports whether the family reads the document.
func isRead(d syntax.Document) bool {
	switch d.(type) {
	case *DenyPolicy, *BreakglassEscalation:
		return true
	}
	return false
}

// Emit returns the files of a table.
func (*Family) Emit(table tables.Table, o emit.Options) map[string][]byte {
	return emitFiles(table.(*tables.Deny), o)
}
