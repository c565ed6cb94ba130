package tables

import "slices"

// Features states which parts a bundle has, so that an engine can omit evaluations that
// cannot change a decision. A feature that is stated without its part costs time and
// changes no decision; a part must always be stated. Features are nil for a bundle that
// states none.
type Features map[string]bool

// FeaturesKey is the key of the features below data.compiled.
const FeaturesKey = "features"

// The names of features.
const (
	// FeatureDenyPolicies is present if there is a DenyPolicy.
	FeatureDenyPolicies = "denyPolicies"
	// FeatureGateway is present if there is a Gateway or a policy that attaches to one.
	FeatureGateway = "gateway"
	// FeatureNamespaceLabels is present if a rule of a DenyPolicy, an exemption from its
	// pod security or an override of an escalation selects namespaces by label.
	FeatureNamespaceLabels = "namespaceLabels"
	// FeatureVisibility is present if there is a MonitorAccessPolicy or a MetricSource.
	FeatureVisibility = "visibility"
)

// Has reports whether a feature may be present: it is, unless its absence is stated.
func (f Features) Has(name string) bool {
	present, stated := f[name]
	return present || !stated
}

func (d *Deny) readsNamespaceLabels() bool {
	return slices.ContainsFunc(d.Escalations, func(e Escalation) bool { return e.NamespaceScope.readsLabels() }) ||
		slices.ContainsFunc(d.Policies, func(p DenyPolicy) bool {
			return p.Pod != nil && p.Pod.ExemptNamespaces.readsLabels() ||
				slices.ContainsFunc(p.Rules, func(r DenyRule) bool { return r.Namespaces.readsLabels() }) ||
				slices.ContainsFunc(p.Impersonation, func(r ImpersonationRule) bool { return r.Identity != nil && r.Identity.Namespaces.readsLabels() })
		})
}

func (f *NamespaceFilter) readsLabels() bool { return f != nil && len(f.Terms) > 0 }
