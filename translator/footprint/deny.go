package footprint

import (
	"slices"

	"github.com/writ-policy/writ/translator/tables"
)

// addDeny adds what deny policies and escalations tell apart.
func addDeny(f *Access, deny *tables.Deny) {
	for i := range deny.Policies {
		addPolicy(f, &deny.Policies[i])
	}
	for i := range deny.Escalations {
		addEscalation(f, &deny.Escalations[i])
	}
	for _, named := range deny.Resources {
		f.Resources.Values = append(f.Resources.Values, named...)
	}
	for _, a := range [...]*Attribute{
		&f.Verbs, &f.APIGroups, &f.Resources, &f.Subresources, &f.Names, &f.Namespaces,
		&f.Clusters, &f.Tenants, &f.Sessions, &f.Escalations,
	} {
		a.Values, a.Patterns = entries(a.Values), entries(a.Patterns)
	}
	f.Groups = entries(f.Groups)
	for label, values := range f.NamespaceLabels {
		f.NamespaceLabels[label] = tables.Entries(values)
	}
}

// entries is tables.Entries, and nil for an empty list.
func entries(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	return tables.Entries(list)
}

func addPolicy(f *Access, p *tables.DenyPolicy) {
	f.Clusters.addGlobs(p.Clusters)
	f.Tenants.addGlobs(p.Tenants)
	f.Sessions.addGlobs(p.Sessions)
	f.Escalations.addGlobs(p.EscalationRefs)
	f.Escalations.Values = append(f.Escalations.Values, p.ReferredBy...)
	for i := range p.Rules {
		addRule(f, &p.Rules[i])
	}
	for i := range p.Impersonation {
		addImpersonation(f, &p.Impersonation[i])
	}
	if pod := p.Pod; pod != nil {
		f.Pods = true
		f.APIGroups.Values = append(f.APIGroups.Values, "")
		f.Resources.Values = append(f.Resources.Values, "pods")
		f.Subresources.Values = append(f.Subresources.Values, pod.Subresources...)
		addNamespaces(f, pod.ExemptNamespaces)
	}
}

// addRule adds the values of a request that the rule can tell apart.
func addRule(f *Access, r *tables.DenyRule) {
	for i := range r.Actions {
		action := &r.Actions[i]
		f.Verbs.Values = append(f.Verbs.Values, action.Verbs...)
		if action.VerbPrefix != "" {
			f.Verbs.Patterns = append(f.Verbs.Patterns, action.VerbPrefix+"*")
		}
		f.APIGroups.Values = append(f.APIGroups.Values, action.Groups...)
	}
	addResources(f, r.Resources)
	f.Names.addGlobs(r.Names)
	addNamespaces(f, r.Namespaces)
}

func addResources(f *Access, resources []tables.DenyResource) {
	for i := range resources {
		f.Resources.Values = append(f.Resources.Values, resources[i].Resources...)
		f.Subresources.Values = append(f.Subresources.Values, resources[i].Subresources...)
	}
}

// addImpersonation adds what a rule about impersonation tells apart. Verbs that ask for
// impersonation have many forms, all of which can be told apart.
func addImpersonation(f *Access, r *tables.ImpersonationRule) {
	f.Verbs.Patterns = append(f.Verbs.Patterns, "impersonate*")
	if i := r.Identity; i != nil {
		f.Resources.Values = append(f.Resources.Values, i.Resources...)
		f.Names.addGlobs(i.Names)
		f.Subresources.addGlobs(i.ExtraKeys)
		addNamespaces(f, i.Namespaces)
	}
	if a := r.Action; a != nil {
		addResources(f, a.Resources)
		f.APIGroups.Values = append(f.APIGroups.Values, a.Groups...)
	}
}

func addEscalation(f *Access, e *tables.Escalation) {
	f.Escalations.Values = append(f.Escalations.Values, e.Name)
	f.Clusters.addGlobs(e.Clusters)
	f.Groups = append(f.Groups, e.Groups...)
	addNamespaces(f, e.NamespaceScope)
}

func addNamespaces(f *Access, n *tables.NamespaceFilter) {
	if n == nil {
		return
	}
	f.Namespaces.addGlobs(n.Patterns)
	for _, term := range n.Terms {
		for _, requirement := range term {
			if f.NamespaceLabels == nil {
				f.NamespaceLabels = make(Labels)
			}
			f.NamespaceLabels[requirement.Key] = append(f.NamespaceLabels[requirement.Key], requirement.Values...)
		}
	}
}

// addGlobs adds patterns, those without a wildcard as values. If one matches every value,
// the list tells no values apart.
func (a *Attribute) addGlobs(globs []tables.PathGlob) {
	if slices.ContainsFunc(globs, tables.PathGlob.MatchesAll) {
		return
	}
	for _, glob := range globs {
		if literal, ok := glob.Literal(); ok {
			a.Values = append(a.Values, literal)
		} else {
			text, _ := glob.MarshalText() // never fails
			a.Patterns = append(a.Patterns, string(text))
		}
	}
}
