package match

import (
	"github.com/writ-policy/writ/translator/tables"
)

// Hit is a rule whose lists match a request, joined with a binding that applies it.
type Hit struct {
	Binding *tables.Binding
	role    *tables.Role
	rule    int
	// Lent counts the hits that only groups of sessions lead to, from one; zero: a subject of
	// the request does.
	Lent int
}

// Deny reports whether the rule is a deny rule, which only Origin roles have.
func (h Hit) Deny() bool {
	return h.role.Family == tables.FamilyOrigin && h.role.Origin[h.rule].Deny
}

// Restrictions returns the restrictions of the rule, nil if it has none. Only rules of
// Origin roles have restrictions.
func (h Hit) Restrictions() *tables.Restrictions {
	if h.role.Family == tables.FamilyOrigin {
		return h.role.Origin[h.rule].Restrictions
	}
	return nil
}

// Number returns the index of the rule in its document, and its position as file:line.
func (h Hit) Number() (number int, source string) {
	if h.role.Family == tables.FamilyOrigin {
		rule := &h.role.Origin[h.rule]
		return rule.Rule, rule.Source
	}
	rule := &h.role.Kubernetes[h.rule]
	return rule.Rule, rule.Source
}

// Role returns the role of the binding.
func (h Hit) Role() *tables.Role { return h.role }
