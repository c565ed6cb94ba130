package answers

import (
	"cmp"
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/translator/tables"
)

// The effects of rules and policies, as documents write them.
const (
	effectAllow = "Allow"
	effectDeny  = "Deny"
)

// Role implements console.Viewer.
func (v *viewer) Role(c console.Caller, q console.RoleQuery) (*console.Role, error) {
	if err := v.admit(c); err != nil {
		return nil, err
	}
	world := statement.Of(v.policies)
	if world == nil {
		return nil, errNoTable
	}
	key, role, err := findRole(world.Access, &q)
	if err != nil {
		return nil, err
	}
	out := &console.Role{RoleName: nameOfRole(&role), Source: role.Source, Rules: rulesOfRole(world, key, &role), Holders: []console.BindingOf{}, Revision: v.Revision()}
	i := 0
	for r := range rulesOf(&role) {
		if t := v.revision.counts.find(&r); t != nil {
			out.Rules[i].Decided, out.Rules[i].Matched = t.decided.Load(), t.matched.Load()
		}
		i++
	}
	holders := holdersOf(world.Access, key)
	from, to, after, err := page(len(holders), q.Limit, q.After)
	if err != nil {
		return nil, err
	}
	out.Total, out.After = len(holders), after
	out.Holders = append(out.Holders, holders[from:to]...)
	return out, nil
}

// findRole returns the role that is asked for, and its key.
func findRole(access *tables.Access, q *console.RoleQuery) (string, tables.Role, error) {
	families := []string{tables.FamilyKubernetes, tables.FamilyOrigin}
	switch {
	case q.Name == "":
		return "", tables.Role{}, &console.Error{Reason: console.Invalid, Field: "name", Message: "name must not be empty"}
	case q.Family != "" && !slices.Contains(families, q.Family):
		return "", tables.Role{}, &console.Error{Reason: console.Invalid, Field: "family", Message: "family must be kubernetes or origin"}
	case q.Family != "":
		families = []string{q.Family}
	}
	for _, family := range families {
		key := tables.RoleKey(family, q.Namespace, q.Name)
		if role := access.Roles.At(key); role.Name != "" {
			return key, role, nil
		}
	}
	return "", tables.Role{}, console.Errorf(console.NotFound, "role %q does not exist", strings.TrimPrefix(q.Namespace+"/"+q.Name, "/"))
}

func nameOfRole(r *tables.Role) console.RoleName {
	return console.RoleName{Family: r.Family, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
}

// rulesOfRole returns the rules of a role, without counts.
func rulesOfRole(world *statement.World, key string, role *tables.Role) []console.RoleRule {
	rules := make([]console.RoleRule, 0, len(role.Kubernetes)+len(role.Origin))
	for i := range role.Kubernetes {
		r := &role.Kubernetes[i]
		rules = append(rules, console.RoleRule{
			Rule: r.Rule, Source: r.Source, Effect: effectAllow, Verbs: r.Verbs, APIGroups: r.Groups, Resources: r.Resources, ResourceNames: r.Names, Paths: r.Paths,
		})
	}
	for i := range role.Origin {
		r := &role.Origin[i]
		rule := console.RoleRule{
			Rule: r.Rule, Source: r.Source, Effect: effectAllow, Verbs: tables.Negated(r.Verbs, r.NotVerbs), Resources: tables.Negated(r.Kinds, r.NotKinds),
		}
		if r.Deny {
			rule.Effect = effectDeny
		}
		rules = append(rules, rule)
	}
	for i, r := range world.RulesOf(key) {
		rules[i].Condition = statement.ConditionText([]*statement.Statement{{Effect: statement.OutcomeAllow, Condition: r.Condition}}, nil, false)
	}
	return rules
}

// holdersOf returns the subjects of the bindings of a role, by their names.
func holdersOf(access *tables.Access, role string) (holders []console.BindingOf) {
	for h := range access.Holdings() {
		if h.Binding.Role == role {
			holders = append(holders, newHeld(h.Binding, h.Subject, h.Namespace).BindingOf)
		}
	}
	slices.SortStableFunc(holders, func(a, b console.BindingOf) int {
		_, left, _ := strings.Cut(a.Subject, ":")
		_, right, _ := strings.Cut(b.Subject, ":")
		return cmp.Or(strings.Compare(left, right), strings.Compare(a.In, b.In), strings.Compare(a.Name, b.Name))
	})
	return holders
}
