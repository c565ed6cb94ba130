package deny

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-policy/writ/tests/oracle"
)

// The steps of deny policies, before those of every grant.
const (
	StepDenyRule = iota + 1
	StepPodSecurity
)

const defaultPrecedence = 100

// Denied is the one pass over all deny policies in scope: for each its rules,
// then its impersonation rules, then its pod security. It says whether some policy denies, which ends it.
func (w *Denials) Denied(r oracle.Request, d *oracle.Decision) bool {
	forms := Forms(r)
	for _, p := range w.inOrder() {
		if !w.InScope(p, r) || !p.Dates.Hold(w.Now) {
			continue
		}
		if p.ruleDenied(forms, d) || p.impersonationDenied(forms, d) {
			return true
		}
		if r.Path == "" && p.PodSecurity != nil && p.PodSecurity.Reaches(r) && w.podDenied(p, r, d) {
			return true
		}
	}
	d.PodSecurity = shown(d.Judgements)
	return false
}

const labelsUnknown = ": namespace labels are unknown (fail-closed)"

func (p *Policy) ruleDenied(forms []oracle.Request, d *oracle.Decision) bool {
	if forms[0].Path != "" {
		return false
	}
	for i, rule := range p.Rules {
		if truth := rule.denies(forms); truth != oracle.No {
			denyBy(d, p, i, rule.Source, StepDenyRule, fmt.Sprintf("%s, rule %d", p.Name, i))
			if truth == oracle.Undecidable {
				d.Reason += labelsUnknown
			}
			return true
		}
	}
	return false
}

func (p *Policy) impersonationDenied(forms []oracle.Request, d *oracle.Decision) bool {
	for i, rule := range p.Impersonation {
		if truth := rule.denies(forms); truth != oracle.No {
			denyBy(d, p, i, rule.Source, StepDenyRule, fmt.Sprintf("%s, impersonation rule %d", p.Name, i))
			if rule.Reason != "" {
				d.Reason += ": " + rule.Reason
			}
			if truth == oracle.Undecidable {
				d.Reason += labelsUnknown
			}
			return true
		}
	}
	return false
}

// denyBy makes the decision a denial by one policy, and by that alone.
func denyBy(d *oracle.Decision, p *Policy, rule int, source string, step int, words string) {
	d.Denied = true
	d.Reason = "denied by DenyPolicy " + words + p.Dates.Words()
	d.Matched = []oracle.Entry{{
		Kind: "DenyPolicy", Name: p.Name, Rule: rule, Source: source,
		Effect: "deny", APIVersion: Version, Step: step, Until: p.Dates.Until(),
	}}
}

// inOrder are the policies by precedence, and by name where that is the same.
func (w *Denials) inOrder() []*Policy {
	return slices.SortedFunc(slices.Values(w.DenyPolicies), func(a, b *Policy) int {
		return cmp.Or(cmp.Compare(a.precedence(), b.precedence()), strings.Compare(a.Name, b.Name))
	})
}

func (p *Policy) precedence() int {
	if p.Precedence == nil {
		return defaultPrecedence
	}
	return *p.Precedence
}

// inScope reports whether each list of appliesTo holds. An escalation that names
// the policy replaces sessions and escalationRefs, for every principal.
func (w *Denials) inScope(p *Policy, r oracle.Request) bool {
	holds := func(globs []string, value string) bool { return len(globs) == 0 || fitsAny(globs, value) }
	tenant := r.Tenant
	if tenant == "" {
		tenant = w.Tenants[r.Cluster]
	}
	if !holds(p.Clusters, r.Cluster) || !holds(p.Tenants, tenant) {
		return false
	}
	if e := w.Escalation(r); e != nil && slices.Contains(e.DenyPolicyRefs, p.Name) {
		return true
	}
	return holds(p.Sessions, r.Session) && holds(p.EscalationRefs, r.Escalation)
}

// Escalation is the one that the request names, nil if it does not exist.
func (w *Denials) Escalation(r oracle.Request) *Escalation {
	for _, e := range w.Escalations {
		if e.Name == r.Escalation {
			return e
		}
	}
	return nil
}

// denies reports whether the rule denies a request in one of its forms: a namespace
// filter that cannot be decided does, if everything else holds.
func (rule *Rule) denies(forms []oracle.Request) oracle.Truth {
	for _, r := range forms {
		switch {
		case !rule.fitsVerb(r) || !rule.fitsGroup(r) || !rule.fitsResource(r) || !rule.fitsName(r):
		case rule.Namespaces.empty():
			return oracle.Yes
		default:
			return rule.Namespaces.fits(r) // the same for all forms
		}
	}
	return oracle.No
}

// Impersonates reports whether the request asks for a mode of impersonation, which
// Kubernetes does before it asks for impersonation as such.
func Impersonates(r oracle.Request) bool { return strings.HasPrefix(r.Verb, "impersonate:") }

func (rule *Rule) fitsVerb(r oracle.Request) bool {
	return oracle.Has(rule.Verbs, "*", r.Verb) || Impersonates(r) && oracle.Has(rule.Verbs, "impersonate")
}

func (rule *Rule) fitsGroup(r oracle.Request) bool {
	twins := []string{"", "authentication.k8s.io"}
	return oracle.Has(rule.APIGroups, "*", r.APIGroup) ||
		Impersonates(r) && slices.Contains(twins, r.APIGroup) && oracle.Has(rule.APIGroups, twins...)
}

func (rule *Rule) fitsResource(r oracle.Request) bool {
	return slices.ContainsFunc(rule.Resources, func(entry string) bool {
		resource, sub, narrowed := strings.Cut(entry, "/")
		if resource != "*" && resource != r.Resource {
			return false
		}
		if narrowed {
			return sub == "*" && r.Subresource != "" || sub != "*" && sub == r.Subresource
		}
		return len(rule.Subresources) == 0 || oracle.Has(rule.Subresources, "*", r.Subresource)
	})
}

func (rule *Rule) fitsName(r oracle.Request) bool {
	if len(rule.ResourceNames) == 0 {
		return true
	}
	if r.Name == "" {
		return oracle.Has(rule.ResourceNames, "*", "")
	}
	return fitsAny(rule.ResourceNames, r.Name)
}

// empty filters say nothing; what that means depends on where they stand.
func (f Filter) empty() bool { return len(f.Patterns) == 0 && len(f.Terms) == 0 }

// fits reports whether the filter selects the request's namespace. It is
// undecidable where labels decide and are not known.
func (f Filter) fits(r oracle.Request) oracle.Truth {
	switch {
	case fitsAny(f.Patterns, r.Namespace):
		return oracle.Yes
	case r.Namespace == "" || len(f.Terms) == 0:
		return oracle.No
	case r.NamespaceLabels == nil:
		return oracle.Undecidable
	}
	return oracle.Of(slices.ContainsFunc(f.Terms, func(term oracle.Selector) bool { return term.Fits(r.NamespaceLabels) }))
}
