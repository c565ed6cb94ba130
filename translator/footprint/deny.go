package footprint

import (
	"cmp"
	"slices"

	"github.com/writ-policy/writ/translator/rule"
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
	scope := f.Scope()
	for _, a := range append(scope[:], &f.Verbs, &f.APIGroups, &f.Resources, &f.Subresources, &f.Names, &f.Namespaces) {
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
	f.addRule(rule.Scope(p))
	for i := range p.Rules {
		f.addRule(rule.Deny(&p.Rules[i]))
	}
	for i := range p.Impersonation {
		// Verbs that ask for impersonation have many forms, all of which can be told apart.
		f.Verbs.Patterns = append(f.Verbs.Patterns, rule.Impersonate+"*")
		f.addRule(withoutVerbs(rule.Impersonation(&p.Impersonation[i])))
	}
	if p.Pod != nil {
		f.Pods = true
		f.addRule(rule.Pod(p.Pod))
		addNamespaces(f, p.Pod.ExemptNamespaces)
	}
}

func withoutVerbs(r rule.Rule) rule.Rule {
	for i := range r {
		r[i] = slices.DeleteFunc(r[i], func(l rule.List) bool { return l.Of == rule.Verb })
	}
	return r
}

// addRule adds the values of a request that the lists of a rule can tell apart.
func (f *Access) addRule(r rule.Rule) {
	for _, alternative := range r {
		for _, l := range alternative {
			d := cmp.Or(l.Denied, new(rule.Denied))
			if a := f.attribute(l.Of); a != nil {
				a.Values = append(a.Values, l.Any...)
				a.addGlobs(d.Globs)
				for _, prefix := range d.Prefixes {
					a.Patterns = append(a.Patterns, prefix+"*")
				}
			}
			addResources(f, d.Targets)
			f.Subresources.addGlobs(d.Keys)
			addNamespaces(f, d.Filter)
		}
	}
}

// attribute returns what the footprint has of an attribute that is one text, nil for others.
func (f *Access) attribute(of rule.Attribute) *Attribute {
	switch of {
	case rule.Verb:
		return &f.Verbs
	case rule.Group:
		return &f.APIGroups
	case rule.Name:
		return &f.Names
	default: // targets, paths, namespaces and their labels are more than one text
		if i, ok := of.ScopeIndex(); ok {
			return f.Scope()[i]
		}
		return nil
	}
}

func addResources(f *Access, resources []tables.DenyResource) {
	for i := range resources {
		f.Resources.Values = append(f.Resources.Values, resources[i].Resources...)
		f.Subresources.Values = append(f.Subresources.Values, resources[i].Subresources...)
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
