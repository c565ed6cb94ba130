package tables

import (
	"cmp"
	"strings"

	"github.com/writ-policy/writ/translator/dates"
)

// The API of deny policies, escalations and sessions.
const (
	BreakglassGroup   = "breakglass.t-caas.telekom.com"
	BreakglassVersion = BreakglassGroup + "/v1alpha1"
)

// Deny holds the deny policies and pod security in the form that goes into a bundle as
// data.compiled.deny_tables. Rego decides by the file of each policy; the embedded engine
// reads the tables to find out whether any policy concerns a request.
type Deny struct {
	// Policies are in the order of evaluation: by precedence, then name.
	Policies []DenyPolicy `json:"policies,omitzero"`
	// Escalations are those that override pod security for requests which name them, sorted
	// by name.
	Escalations []Escalation `json:"escalations,omitzero"`
	// Owned are those that override pod security for users of sessions which they own, on
	// any cluster and for any group. They are sorted by name and have all of Escalations.
	Owned []Escalation `json:"owned,omitzero"`
	// Resources are the resources that rules and pod security name, by each lower-case
	// word for the same kind: "pod" and "pods" lead to "pods". Sorted; a resource that
	// is not in lower case has no other word. Nil if no resource is named.
	Resources map[string][]string `json:"resources,omitempty"`
}

// DenyPolicy is a DenyPolicy document.
type DenyPolicy struct {
	Name       string `json:"name"`
	Precedence int    `json:"precedence"`
	// Source is the file:line of the document.
	Source string `json:"source"`
	// Clusters, Tenants, Sessions and EscalationRefs limit the scope; a nil or empty list
	// does not.
	Clusters       []PathGlob `json:"clusters,omitzero"`
	Tenants        []PathGlob `json:"tenants,omitzero"`
	Sessions       []PathGlob `json:"sessions,omitzero"`
	EscalationRefs []PathGlob `json:"escalationRefs,omitzero"`
	// ReferredBy are the escalations whose denyPolicyRefs list the policy, sorted.
	// While one of them is active, Sessions and EscalationRefs match.
	ReferredBy []string   `json:"referredBy,omitzero"`
	Rules      []DenyRule `json:"rules,omitzero"`
	// Impersonation are the impersonationRules, evaluated after Rules.
	Impersonation []ImpersonationRule `json:"impersonation,omitzero"`
	// Pod is nil without podSecurityRules.
	Pod *PodSecurity `json:"pod,omitempty"`
	// Dates is when the policy holds; nil: always.
	Dates *dates.Period `json:"dates,omitempty"`
}

// DenyRule is one rule of a DenyPolicy. It denies a resource request that matches one
// of Actions, one of Resources, Namespaces and Names.
type DenyRule struct {
	Rule   int    `json:"rule"`
	Source string `json:"source"`
	// Actions and Resources are never empty.
	Actions   []DenyAction   `json:"actions,omitzero"`
	Resources []DenyResource `json:"resources,omitzero"`
	// Namespaces is nil if every namespace matches.
	Namespaces *NamespaceFilter `json:"namespaces,omitempty"`
	// Names is empty if every name matches.
	Names []PathGlob `json:"names,omitzero"`
	// NeedsName states that a request without a name does not match.
	NeedsName bool `json:"needsName,omitempty"`
}

// ImpersonationRule is one of the impersonationRules of a DenyPolicy. It denies requests
// that match Identity or Action; if both are nil, everything that asks for impersonation,
// verbs that cannot be read included.
type ImpersonationRule struct {
	Rule   int    `json:"rule"`
	Source string `json:"source"`
	// Reason is added to the reason of a denial; it may be empty.
	Reason   string                `json:"reason,omitempty"`
	Identity *ImpersonatedIdentity `json:"identity,omitempty"`
	Action   *ImpersonatedAction   `json:"action,omitempty"`
}

// ImpersonatedIdentity matches requests that ask whether the caller may take an identity.
type ImpersonatedIdentity struct {
	// Verbs are those of the modes that match, never empty: "impersonate" and
	// "impersonate:MODE".
	Verbs []string `json:"verbs,omitzero"`
	// Resources is nil if every resource matches.
	Resources []string `json:"resources,omitzero"`
	// Names and ExtraKeys match the name and the subresource. They are empty if every
	// value matches, otherwise they contain the literal "*", which stands for several
	// values.
	Names     []PathGlob `json:"names,omitzero"`
	ExtraKeys []PathGlob `json:"extraKeys,omitzero"`
	// Namespaces is nil if every namespace matches.
	Namespaces *NamespaceFilter `json:"namespaces,omitempty"`
}

// ImpersonatedAction matches requests that ask whether the caller may do something while
// impersonating. Their verb is "impersonate-on:MODE:VERB".
type ImpersonatedAction struct {
	// Modes are never empty.
	Modes []string `json:"modes,omitzero"`
	// Verbs is nil if every verb matches.
	Verbs []string `json:"verbs,omitzero"`
	// Resources is empty if every resource and path matches. The resource of a path is
	// empty.
	Resources []DenyResource `json:"resources,omitzero"`
	// Groups is nil if every group matches.
	Groups []string `json:"groups,omitzero"`
}

// DenyAction is a verb on an API group.
type DenyAction struct {
	// Verbs is nil if every verb with VerbPrefix matches.
	Verbs []string `json:"verbs,omitzero"`
	// VerbPrefix is the required prefix of the verb, or empty.
	VerbPrefix string `json:"verbPrefix,omitempty"`
	// Groups is nil if every group matches.
	Groups []string `json:"groups,omitzero"`
}

// DenyResource is resources with their subresources.
type DenyResource struct {
	// Resources is nil if every resource matches.
	Resources []string `json:"resources,omitzero"`
	// Subresources is nil if every subresource and the main resource match; the entry
	// "" is the main resource.
	Subresources []string `json:"subresources,omitzero"`
	// NeedsSubresource excludes the main resource.
	NeedsSubresource bool `json:"needsSubresource,omitempty"`
}

// NamespaceFilter matches a namespace by its name or by its labels. It has at least one
// pattern or term.
type NamespaceFilter struct {
	Patterns []PathGlob           `json:"patterns,omitzero"`
	Terms    [][]LabelRequirement `json:"terms,omitzero"` // each the AND of its requirements
}

// LabelRequirement is In, NotIn, Exists or DoesNotExist on one label; matchLabels
// are In with one value.
type LabelRequirement struct {
	Key      string   `json:"key"`
	Operator Operator `json:"operator"`
	Values   []string `json:"values,omitzero"` // sorted
}

// Operator is how a requirement compares a label.
type Operator string

// The operators. In and NotIn have values; NotIn holds for an absent label too.
const (
	In           Operator = "In"
	NotIn        Operator = "NotIn"
	Exists       Operator = "Exists"
	DoesNotExist Operator = "DoesNotExist"
)

// PodSecurity is the podSecurityRules of a policy.
type PodSecurity struct {
	Source       string   `json:"source"`
	Subresources []string `json:"subresources,omitzero"` // never empty
	// Factors are the risk factors that the policy evaluates, sorted by name.
	Factors    []RiskFactor `json:"factors,omitzero"`
	Thresholds []Threshold  `json:"thresholds,omitzero"`
	// BlockFactors are names of Factors, in the order of the document.
	BlockFactors []string `json:"blockFactors,omitzero"`
	// ExemptNamespaces is nil if the policy exempts no namespace.
	ExemptNamespaces *NamespaceFilter  `json:"exemptNamespaces,omitempty"`
	ExemptLabels     map[string]string `json:"exemptLabels,omitempty"`
	FailOpen         bool              `json:"failOpen,omitempty"`
}

// RiskFactor is a property of a pod that adds to its score.
type RiskFactor struct {
	// Name is the name in blockFactors: "hostNetwork", ..., "capability:NAME" with
	// NAME normalised.
	Name string `json:"name"`
	// Capability is NAME of a capability, empty for every other factor.
	Capability string `json:"capability,omitempty"`
	// Weight is added for each occurrence; 0 for a factor that riskFactors does not
	// name.
	Weight int `json:"weight"`
}

// Threshold is one of thresholds, in the order of the document.
type Threshold struct {
	MaxScore int    `json:"maxScore"`
	Action   string `json:"action,omitempty"` // allow, warn or deny
	// Reason is the parsed template, nil without one.
	Reason []TemplatePart `json:"reason,omitzero"`
}

// TemplatePart is a piece of text or, if Variable is set, one of score, factors, pod,
// namespace.
type TemplatePart struct {
	Text     string `json:"text,omitempty"`
	Variable string `json:"variable,omitempty"`
}

// Escalation is the override of a BreakglassEscalation that may be active.
type Escalation struct {
	Name string `json:"name"`
	// Source is the file:line of the document.
	Source string `json:"source"`
	// Clusters are those of allowed.clusters and clusterConfigRefs.
	Clusters []PathGlob `json:"clusters,omitzero"`
	// Groups are those of allowed.groups; the requester must have one of them.
	Groups []string `json:"groups,omitzero"`
	// ExemptFactors are the names in BlockFactors that do not block.
	ExemptFactors []string `json:"exemptFactors,omitzero"`
	// MaxAllowedScore is nil if absent.
	MaxAllowedScore *int `json:"maxAllowedScore,omitempty"`
	// NamespaceScope is nil if every namespace is in scope.
	NamespaceScope *NamespaceFilter `json:"namespaceScope,omitempty"`
}

// Requestable holds the escalations that can be requested, and the clusters on which they
// are, in the form that goes into a bundle as data.compiled.requestable. Decisions read the
// tenants of clusters.
type Requestable struct {
	// Escalations are sorted by CompareEscalations.
	Escalations []RequestableEscalation `json:"escalations,omitzero"`
	// Clusters are the ClusterConfigs by name.
	Clusters map[string]ClusterConfig `json:"clusters,omitzero"`
	// Prefixes are those of groups under which the group of a session counts as well.
	Prefixes []string `json:"prefixes,omitzero"`
}

// Lent returns the groups that a session of an escalation lends.
func (t *Requestable) Lent(e *RequestableEscalation) []string {
	out := []string{e.Group}
	for _, prefix := range t.Prefixes {
		out = append(out, prefix+e.Group)
	}
	return out
}

// RequestableEscalation is a BreakglassEscalation with who may request and approve it. Lists
// are sorted.
type RequestableEscalation struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Source    string `json:"source"` // file:line of the document
	// Group is held while a session lasts.
	Group string `json:"group"`
	// Ready is false for an object of a cluster that cannot be requested, nil where that is
	// not known.
	Ready *bool `json:"ready,omitempty"`
	// Clusters are those of allowed.clusters and clusterConfigRefs.
	Clusters []PathGlob `json:"clusters,omitzero"`
	// Groups may request.
	Groups         []string `json:"groups,omitzero"`
	ApproverUsers  []string `json:"approverUsers,omitzero"`
	ApproverGroups []string `json:"approverGroups,omitzero"`
	// RequesterProviders and ApproverProviders are empty for any identity provider.
	RequesterProviders []string `json:"requesterProviders,omitzero"`
	ApproverProviders  []string `json:"approverProviders,omitzero"`
	// SelfApproval is nil where the cluster decides, as is Domains where it is empty.
	SelfApproval *bool    `json:"selfApproval,omitempty"`
	Domains      []string `json:"domains,omitzero"`
	DenyPolicies []string `json:"denyPolicies,omitzero"`
}

// ClusterConfig is a ClusterConfig.
type ClusterConfig struct {
	Tenant string `json:"tenant,omitempty"`
	// SelfApproval is nil where it is not stated.
	SelfApproval *bool    `json:"selfApproval,omitempty"`
	Domains      []string `json:"domains,omitzero"`
}

// CompareEscalations orders escalations by namespace and name.
func CompareEscalations(a, b RequestableEscalation) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

// Scope is what appliesTo of a deny policy compares of a request at the access point: texts,
// empty where a request has none.
type Scope struct{ Cluster, Tenant, Session, Escalation string }

// The indices of ScopeAttributes.
const (
	ScopeCluster = iota
	ScopeTenant
	ScopeSession
	ScopeEscalation
)

// ScopeAttribute is the names of a member of Scope. Decoders, emitters, projections and searches
// loop over ScopeAttributes, so that a new member is added here, and to the structs whose fields
// it has: DenyPolicy, the request of package decision, and the footprint.
type ScopeAttribute struct {
	Key  string // of a request
	List string // of appliesTo and of DenyPolicy
	// IsReferred states that an escalation which refers to a policy stands for the member.
	IsReferred bool
}

// ScopeAttributes are the members of Scope, in the order in which policies, requests and
// questions state them.
var ScopeAttributes = [...]ScopeAttribute{
	ScopeCluster: {"cluster", "clusters", false}, ScopeTenant: {"tenant", "tenants", false},
	ScopeSession: {"session", "sessions", true}, ScopeEscalation: {"escalation", "escalationRefs", true},
}

// At returns a member by its index in ScopeAttributes.
func (s *Scope) At(i int) *string {
	switch i {
	case ScopeCluster:
		return &s.Cluster
	case ScopeTenant:
		return &s.Tenant
	case ScopeSession:
		return &s.Session
	default:
		return &s.Escalation
	}
}

// Scope returns the lists of a policy for ScopeAttributes, in their order.
func (p *DenyPolicy) Scope() [len(ScopeAttributes)]*[]PathGlob {
	return [...]*[]PathGlob{ScopeCluster: &p.Clusters, ScopeTenant: &p.Tenants, ScopeSession: &p.Sessions, ScopeEscalation: &p.EscalationRefs}
}

// ScopeKeys returns the keys of ScopeAttributes in a request, after others.
func ScopeKeys(others ...string) []string {
	for i := range ScopeAttributes {
		others = append(others, ScopeAttributes[i].Key)
	}
	return others
}

// Tenants leads from clusters to their tenants. The nil Tenants has none.
type Tenants map[string]string

// TenantsOf returns the tenants of clusters. The empty cluster is that of the bundle.
func TenantsOf(list List) Tenants {
	t := Of[*Requestable](list)
	if t == nil {
		return nil
	}
	out := make(Tenants)
	for name, c := range t.Clusters {
		if c.Tenant == "" {
			continue
		}
		out[name] = c.Tenant
		if access := Of[*Access](list); access != nil && access.Cluster == name {
			out[""] = c.Tenant
		}
	}
	return out
}

// In returns the scope of a request with the tenant of its cluster, unless it states one.
func (t Tenants) In(s Scope) Scope {
	if s.Tenant == "" {
		s.Tenant = t[s.Cluster]
	}
	return s
}
