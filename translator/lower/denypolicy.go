package lower

import (
	"cmp"
	"slices"

	"github.com/writ-policy/writ/translator/deny"
	"github.com/writ-policy/writ/translator/resolve"
	"github.com/writ-policy/writ/translator/tables"
)

// defaultSubresources are those pod security evaluates unless it names others.
var defaultSubresources = []string{"exec", "attach", "portforward"}

// denyPolicies lowers deny policies and the overrides of escalations.
func denyPolicies(r *resolve.DenyResolved) *tables.Deny {
	deny := &tables.Deny{Policies: []tables.DenyPolicy{}, Escalations: []tables.Escalation{}}
	for i := range r.DenyPolicies {
		deny.Policies = append(deny.Policies, denyPolicy(&r.DenyPolicies[i]))
	}
	// Ties go by name, never by file: two directories with the same documents
	// must report the same policy.
	slices.SortFunc(deny.Policies, func(a, b tables.DenyPolicy) int {
		return cmp.Or(cmp.Compare(a.Precedence, b.Precedence), cmp.Compare(a.Name, b.Name))
	})
	for _, e := range r.Escalations {
		if relaxes(e) {
			deny.Escalations = append(deny.Escalations, escalation(e))
		}
	}
	slices.SortFunc(deny.Escalations, func(a, b tables.Escalation) int { return cmp.Compare(a.Name, b.Name) })
	return deny
}

func denyPolicy(p *resolve.DenyPolicy) tables.DenyPolicy {
	d := p.Document
	out := tables.DenyPolicy{
		Name:       d.Name,
		Precedence: d.Precedence,
		Source:     source(d.At),
		Clusters:   d.Clusters,
		Tenants:    d.Tenants,
		Sessions:   d.Sessions,
		Rules:      make([]tables.DenyRule, 0, len(d.Rules)),
		Pod:        podSecurity(d.Pod),
	}
	for _, ref := range d.EscalationRefs {
		out.EscalationRefs = append(out.EscalationRefs, ref.Value)
	}
	for _, e := range p.ReferredBy {
		out.ReferredBy = append(out.ReferredBy, e.Name)
	}
	slices.Sort(out.ReferredBy)
	out.ReferredBy = slices.Compact(out.ReferredBy)
	for i := range d.Rules {
		out.Rules = append(out.Rules, denyRule(i, &d.Rules[i]))
	}
	return out
}

func denyRule(index int, rule *deny.DenyRule) tables.DenyRule {
	return tables.DenyRule{
		Rule:         index,
		Source:       source(rule.At),
		Verbs:        rule.Verbs,
		Groups:       rule.APIGroups,
		Resources:    rule.Resources,
		Subresources: rule.Subresources,
		Namespaces:   namespaceFilter(rule.Namespaces),
		Names:        rule.ResourceNames,
	}
}

func namespaceFilter(f *deny.NamespaceFilter) *tables.NamespaceFilter {
	if f == nil {
		return nil
	}
	out := &tables.NamespaceFilter{Patterns: f.Patterns}
	for _, term := range f.Terms {
		requirements := make([]tables.LabelRequirement, 0, len(term.Requirements))
		for _, r := range term.Requirements {
			requirement := tables.LabelRequirement{Key: r.Key, Operator: r.Operator}
			if len(r.Values) > 0 {
				requirement.Values = tables.Entries(r.Values)
			}
			requirements = append(requirements, requirement)
		}
		out.Terms = append(out.Terms, requirements)
	}
	return out
}

func podSecurity(p *deny.PodSecurity) *tables.PodSecurity {
	if p == nil {
		return nil
	}
	out := &tables.PodSecurity{
		Source:           source(p.At),
		Subresources:     once(p.Subresources),
		Weights:          p.Weights,
		BlockFactors:     once(p.BlockFactors),
		ExemptNamespaces: namespaceFilter(p.ExemptNamespaces),
		ExemptLabels:     p.ExemptLabels,
		FailOpen:         p.FailOpen,
	}
	if len(out.Subresources) == 0 {
		out.Subresources = defaultSubresources
	}
	for _, t := range p.Thresholds {
		threshold := tables.Threshold{MaxScore: t.MaxScore, Action: t.Action, Source: source(t.At)}
		for _, part := range t.Reason {
			threshold.Reason = append(threshold.Reason, tables.TemplatePart(part))
		}
		out.Thresholds = append(out.Thresholds, threshold)
	}
	return out
}

// once is a list in its order, each entry where it is first.
func once(list []string) []string {
	var out []string
	seen := make(map[string]bool, len(list))
	for _, entry := range list {
		if !seen[entry] {
			seen[entry] = true
			out = append(out, entry)
		}
	}
	return out
}

// relaxes reports whether the override of an escalation can be in force and
// relaxes something then. No request shows the approval that requireApproval
// asks for.
func relaxes(e *deny.BreakglassEscalation) bool {
	o := e.Override
	return o != nil && o.Enabled && !o.RequireApproval && len(e.Clusters) > 0 && len(e.Groups) > 0 &&
		(o.MaxAllowedScore != nil || len(o.ExemptFactors) > 0)
}

func escalation(e *deny.BreakglassEscalation) tables.Escalation {
	return tables.Escalation{
		Name:            e.Name,
		Source:          source(e.At),
		Clusters:        e.Clusters,
		Groups:          tables.Entries(e.Groups),
		ExemptFactors:   once(e.Override.ExemptFactors),
		MaxAllowedScore: e.Override.MaxAllowedScore,
		NamespaceScope:  namespaceFilter(e.Override.NamespaceScope),
	}
}
