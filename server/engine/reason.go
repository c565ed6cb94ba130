package engine

import (
	"fmt"
	"slices"

	"github.com/writ-policy/writ/server/decision"
)

// reason explains a decision by rules: it names the first hit and, for a denial, the
// first one that would allow.
func reason(r *decision.Request, hits []hit, all []decision.Matched) string {
	if len(hits) == 0 {
		return "not allowed: no rule allows " + requestText(r)
	}
	if !hits[0].deny() {
		return "allowed by " + ruleText(&all[0])
	}
	text := "denied by " + ruleText(&all[0])
	if i := slices.IndexFunc(hits, func(h hit) bool { return !h.deny() }); i >= 0 {
		text += "; would be allowed by " + ruleText(&all[i])
	}
	return text
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

func ruleText(m *decision.Matched) string {
	return fmt.Sprintf("%s %s (%s %s, rule %d)",
		m.Kind, fullName(m.Namespace, m.Name), m.Role.Kind, fullName(m.Role.Namespace, m.Role.Name), m.Rule)
}

func fullName(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

func requestText(r *decision.Request) string {
	if r.Path != "" {
		return r.Verb + " " + r.Path
	}
	text := r.Verb + " " + r.Resource
	if r.Subresource != "" {
		text += "/" + r.Subresource
	}
	if r.Namespace == "" {
		return text + " at cluster scope"
	}
	return text + " in " + r.Namespace
}
