package oracle

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// The steps of deny policies, before those of every grant.
const (
	stepDenyRule = iota + 1
	stepPodSecurity
)

const defaultPrecedence = 100

// denied is the one pass over all deny policies in scope: for each its rules,
// then its pod security. It says whether some policy denies, which ends it.
func (w *World) denied(r Request, d *Decision) bool {
	if r.Path != "" {
		return false
	}
	for _, p := range w.inOrder() {
		if !w.inScope(p, r) {
			continue
		}
		for i, rule := range p.Rules {
			if truth := rule.denies(r); truth != No {
				d.deny(p.Name, i, rule.Source, stepDenyRule, fmt.Sprintf("%s, rule %d", p.Name, i))
				if truth == Undecidable {
					d.Reason += ": namespace labels are unknown (fail-closed)"
				}
				return true
			}
		}
		if p.PodSecurity != nil && p.PodSecurity.reaches(r) && w.podDenied(p, r, d) {
			return true
		}
	}
	d.PodSecurity = shown(d.Judgements)
	return false
}

// deny makes the decision a denial by one policy, and by that alone.
func (d *Decision) deny(name string, rule int, source string, step int, words string) {
	d.Denied = true
	d.Reason = "denied by DenyPolicy " + words
	d.Matched = []Entry{{
		Kind: "DenyPolicy", Name: name, Rule: rule, Source: source,
		Effect: "deny", APIVersion: DenyVersion, Step: step,
	}}
}

// inOrder are the policies by precedence, and by name where that is the same.
func (w *World) inOrder() []*DenyPolicy {
	return slices.SortedFunc(slices.Values(w.DenyPolicies), func(a, b *DenyPolicy) int {
		return cmp.Or(cmp.Compare(a.precedence(), b.precedence()), strings.Compare(a.Name, b.Name))
	})
}

func (p *DenyPolicy) precedence() int {
	if p.Precedence == nil {
		return defaultPrecedence
	}
	return *p.Precedence
}

// inScope says whether each list of appliesTo holds. An escalation that names
// the policy stands for sessions and escalationRefs, whoever asks.
func (w *World) inScope(p *DenyPolicy, r Request) bool {
	holds := func(globs []string, value string) bool { return len(globs) == 0 || fitsAny(globs, value) }
	if !holds(p.Clusters, r.Cluster) || !holds(p.Tenants, r.Tenant) {
		return false
	}
	if e := w.escalation(r); e != nil && slices.Contains(e.DenyPolicyRefs, p.Name) {
		return true
	}
	return holds(p.Sessions, r.Session) && holds(p.EscalationRefs, r.Escalation)
}

// escalation is the one that the request names, nil if there is none.
func (w *World) escalation(r Request) *Escalation {
	for _, e := range w.Escalations {
		if e.Name == r.Escalation {
			return e
		}
	}
	return nil
}

// denies says whether the rule denies: a namespace filter that cannot be
// decided does, if everything else holds.
func (rule *DenyRule) denies(r Request) Truth {
	if !rule.fitsVerb(r) || !rule.fitsGroup(r) || !rule.fitsResource(r) || !rule.fitsName(r) {
		return No
	}
	if rule.Namespaces.empty() {
		return Yes
	}
	return rule.Namespaces.fits(r)
}

// impersonates says whether the request asks for a mode of impersonation, which
// Kubernetes does before it asks for impersonation as such.
func impersonates(r Request) bool { return strings.HasPrefix(r.Verb, "impersonate:") }

func (rule *DenyRule) fitsVerb(r Request) bool {
	return has(rule.Verbs, "*", r.Verb) || impersonates(r) && has(rule.Verbs, "impersonate")
}

func (rule *DenyRule) fitsGroup(r Request) bool {
	return has(rule.APIGroups, "*", r.APIGroup) || impersonates(r) && has(rule.APIGroups, "", "authentication.k8s.io")
}

func (rule *DenyRule) fitsResource(r Request) bool {
	return slices.ContainsFunc(rule.Resources, func(entry string) bool {
		resource, sub, narrowed := strings.Cut(entry, "/")
		if resource != "*" && resource != r.Resource {
			return false
		}
		if narrowed {
			return sub == "*" && r.Subresource != "" || sub != "*" && sub == r.Subresource
		}
		return len(rule.Subresources) == 0 || has(rule.Subresources, "*", r.Subresource)
	})
}

func (rule *DenyRule) fitsName(r Request) bool {
	if len(rule.ResourceNames) == 0 {
		return true
	}
	if r.Name == "" {
		return has(rule.ResourceNames, "*", "")
	}
	return fitsAny(rule.ResourceNames, r.Name)
}

// empty filters say nothing; what that means depends on where they stand.
func (f Filter) empty() bool { return len(f.Patterns) == 0 && len(f.Terms) == 0 }

// fits says whether the filter selects the request's namespace. It cannot be
// decided where only labels could tell and nobody knows them.
func (f Filter) fits(r Request) Truth {
	switch {
	case fitsAny(f.Patterns, r.Namespace):
		return Yes
	case r.Namespace == "" || len(f.Terms) == 0:
		return No
	case r.NamespaceLabels == nil:
		return Undecidable
	}
	return of(slices.ContainsFunc(f.Terms, func(term Selector) bool { return term.fits(r.NamespaceLabels) }))
}
