package engine

import (
	"fmt"
	"slices"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine/match"
)

// reason explains a decision by rules: it names the first hit and, for a denial, the
// first one that would allow.
func reason(r *decision.Request, hits []match.Hit, all []decision.Matched) string {
	if len(hits) == 0 {
		return "not allowed: no rule allows " + requestText(r)
	}
	if !hits[0].Deny() {
		return "allowed by " + ruleText(&all[0])
	}
	text := "denied by " + ruleText(&all[0])
	if i := slices.IndexFunc(hits, func(h match.Hit) bool { return !h.Deny() }); i >= 0 {
		text += "; would be allowed by " + ruleText(&all[i])
	}
	return text
}

func matched(h match.Hit) decision.Matched {
	number, source := h.Number()
	effect := "allow"
	if h.Deny() {
		effect = "deny"
	}
	return decision.Matched{
		Kind:       h.Binding.Kind,
		Namespace:  h.Binding.Namespace,
		Name:       h.Binding.Name,
		Rule:       number,
		Source:     source,
		Effect:     effect,
		APIVersion: h.Binding.APIVersion,
		Role:       &decision.RoleRef{Kind: h.Role().Kind, Namespace: h.Role().Namespace, Name: h.Role().Name},
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
