package engine

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/writ-policy/writ/server/decision"
)

// compose writes the decision out as rego/writ/access/access.rego does: the hits
// in the order over all families, the first of them decisive.
func compose(r *decision.Request, hits []hit, undecided []string) decision.Decision {
	slices.SortFunc(hits, compareHits)
	slices.Sort(undecided)
	d := decision.Decision{
		Warnings: append([]string{}, slices.Compact(undecided)...),
		Matched:  make([]decision.Matched, len(hits)),
	}
	for i, h := range hits {
		d.Matched[i] = matched(h)
	}
	switch {
	case len(hits) == 0:
		d.Reason = "not allowed: no rule allows " + askedFor(r)
	case hits[0].deny():
		d.Denied = true
		d.Reason = "denied by " + by(&d.Matched[0])
		if i := slices.IndexFunc(hits, func(h hit) bool { return !h.deny() }); i >= 0 {
			d.Reason += "; would be allowed by " + by(&d.Matched[i])
		}
	default:
		d.Allowed = true
		d.Reason = "allowed by " + by(&d.Matched[0])
	}
	return d
}

func compareHits(a, b hit) int {
	first, _ := a.number()
	second, _ := b.number()
	return cmp.Or(
		cmp.Compare(a.step(), b.step()),
		cmp.Compare(a.binding.Kind, b.binding.Kind),
		cmp.Compare(a.binding.Namespace, b.binding.Namespace),
		cmp.Compare(a.binding.Name, b.binding.Name),
		cmp.Compare(first, second),
		cmp.Compare(a.binding.APIVersion, b.binding.APIVersion),
	)
}

// step is the place in the order over all families: what holds for the cluster
// goes before what holds in a namespace, and on one level deny before allow.
func (h hit) step() int {
	step := 6
	if h.binding.Cluster {
		step = 4
	}
	if h.deny() {
		step--
	}
	return step
}

func matched(h hit) decision.Matched {
	number, source := h.number()
	effect := "allow"
	if h.deny() {
		effect = "deny"
	}
	return decision.Matched{
		Kind:       h.binding.Kind,
		Namespace:  h.binding.Namespace,
		Name:       h.binding.Name,
		Rule:       number,
		Source:     source,
		Effect:     effect,
		APIVersion: h.binding.APIVersion,
		Role:       &decision.RoleRef{Kind: h.role.Kind, Namespace: h.role.Namespace, Name: h.role.Name},
	}
}

func by(m *decision.Matched) string {
	return fmt.Sprintf("%s %s (%s %s, rule %d)",
		m.Kind, fullName(m.Namespace, m.Name), m.Role.Kind, fullName(m.Role.Namespace, m.Role.Name), m.Rule)
}

func fullName(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

func askedFor(r *decision.Request) string {
	if r.Path != "" {
		return r.Verb + " " + r.Path
	}
	asked := r.Verb + " " + r.Resource
	if r.Subresource != "" {
		asked += "/" + r.Subresource
	}
	if r.Namespace == "" {
		return asked + " at cluster scope"
	}
	return asked + " in " + r.Namespace
}
