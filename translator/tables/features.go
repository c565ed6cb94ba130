package tables

import "slices"

// Features states which parts of a bundle there are, so that an engine can leave
// out evaluations that cannot change a decision. A feature that is stated but not
// there costs time and changes no decision; one that is there must be stated.
type Features struct {
	// DenyPolicies is true if there is a DenyPolicy.
	DenyPolicies bool `json:"denyPolicies"`
	// Gateway is true if there is a Gateway or a policy that attaches to one.
	Gateway bool `json:"gateway"`
	// NamespaceLabels is true if a rule of a DenyPolicy, an exemption from its pod
	// security or an override of an escalation selects namespaces by label.
	NamespaceLabels bool `json:"namespaceLabels"`
	// Visibility is true if there is a MonitorAccessPolicy or a MetricSource.
	Visibility bool `json:"visibility"`
}

// AllFeatures returns the features to assume of a bundle that states none.
func AllFeatures() Features {
	return Features{DenyPolicies: true, NamespaceLabels: true, Visibility: true, Gateway: true}
}

// Features returns what the tables hold. Tables that are nil hold nothing.
func (t *Tables) Features() Features {
	f := Features{
		Visibility: t.Visibility != nil && len(t.Visibility.Policies)+len(t.Visibility.Sources) > 0,
		Gateway:    t.Gateway != nil && len(t.Gateway.Gateways)+len(t.Gateway.Policies) > 0,
	}
	if t.Deny != nil {
		f.DenyPolicies = len(t.Deny.Policies) > 0
		f.NamespaceLabels = t.Deny.readsNamespaceLabels()
	}
	return f
}

func (d *Deny) readsNamespaceLabels() bool {
	return slices.ContainsFunc(d.Escalations, func(e Escalation) bool { return e.NamespaceScope.readsLabels() }) ||
		slices.ContainsFunc(d.Policies, func(p DenyPolicy) bool {
			return p.Pod != nil && p.Pod.ExemptNamespaces.readsLabels() ||
				slices.ContainsFunc(p.Rules, func(r DenyRule) bool { return r.Namespaces.readsLabels() })
		})
}

func (f *NamespaceFilter) readsLabels() bool { return f != nil && len(f.Terms) > 0 }
