package answers

import (
	"cmp"
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/tables"
)

// Subject implements console.Viewer.
func (v *viewer) Subject(c console.Caller, subject string, limit int, after string) (*console.Subject, error) {
	if !c.SeesAll && subject != "" && strings.TrimPrefix(subject, statement.UserPrefix) != c.User {
		return nil, console.ErrForbidden
	}
	if err := v.needRevision(); err != nil {
		return nil, err
	}
	world := statement.Of(v.policies)
	if world == nil {
		return nil, errNoTable
	}
	principals := v.ownPrincipals(c)
	if c.SeesAll {
		if subject == "" {
			return nil, &console.Error{Reason: console.Invalid, Field: "subject", Message: "subject must not be empty"}
		}
		principals = withImplied(v.principalOf(subject))
	}
	out := &console.Subject{Groups: []string{}, Bindings: []console.Held{}, Policies: []console.NamingPolicy{}, Revision: v.Revision()}
	if len(principals) == 0 {
		return out, nil // a caller without a name
	}
	out.Subject = principals[0]
	out.Name, out.Kind = nameOf(principals[0])
	for _, p := range principals[1:] {
		out.Groups = append(out.Groups, strings.TrimPrefix(p, statement.GroupPrefix))
	}
	held := heldBy(world.Access, principals)
	from, to, next, err := page(len(held), limit, after)
	if err != nil {
		return nil, err
	}
	out.Total, out.After = len(held), next
	for _, h := range held[from:to] {
		out.Bindings = append(out.Bindings, console.Held{BindingOf: h.BindingOf, Role: roleHeld(world, h.role)})
	}
	out.Policies = v.policiesNaming(principals, out.Policies)
	return out, nil
}

var errNoTable = console.Errorf(console.NotReady, "the bundle of the revision has no table of its deny policies")

// ownPrincipals are those of the requests of a caller about itself.
func (v *viewer) ownPrincipals(c console.Caller) []string {
	groups := c.Groups
	if v.policies.Tables().Access().ImpliesGroups() {
		groups, _ = decision.AddImpliedGroups(c.User, groups)
	}
	return statement.Principals(c.User, groups)
}

// withImplied returns a principal with the groups that Kubernetes adds to a user.
func withImplied(principal string) []string {
	user, isUser := strings.CutPrefix(principal, statement.UserPrefix)
	if !isUser {
		return []string{principal}
	}
	groups, _ := decision.AddImpliedGroups(user, nil)
	return statement.Principals(user, groups)
}

// heldBinding is a binding of a subject with the key of its role.
type heldBinding struct {
	console.BindingOf
	role string
}

func newHeld(b *tables.Binding, subject, in string) heldBinding {
	return heldBinding{console.BindingOf{Subject: subject, In: in, Kind: b.Kind, Namespace: b.Namespace, Name: b.Name, Source: b.Source, Until: b.Dates.End()}, b.Role}
}

// heldBy returns the bindings that name one of some principals, those of the first one
// first, and then those of the whole cluster before others, by namespace and name.
func heldBy(access *tables.Access, principals []string) (held []heldBinding) {
	add := func(in string, subjects tables.Map[[]string]) {
		for _, p := range principals {
			for _, key := range subjects.At(p) {
				b := access.Bindings.At(key)
				held = append(held, newHeld(&b, p, in))
			}
		}
	}
	add("", access.Subjects.Cluster)
	for namespace, subjects := range access.Subjects.Namespaces.All() {
		add(namespace, *subjects)
	}
	rank := func(principal string) int { return min(slices.Index(principals, principal), 1) }
	slices.SortStableFunc(held, func(a, b heldBinding) int {
		return cmp.Or(cmp.Compare(rank(a.Subject), rank(b.Subject)), strings.Compare(a.In, b.In), strings.Compare(a.Name, b.Name), strings.Compare(a.Kind, b.Kind))
	})
	return held
}

// maxPhrases is how many rules of a role its text is about.
const maxPhrases = 3

// roleHeld returns the role of a binding with what its first rules are about.
func roleHeld(world *statement.World, key string) console.HeldRole {
	role := world.Access.Roles.At(key)
	out := console.HeldRole{RoleName: nameOfRole(&role), Source: role.Source}
	rules := rulesOfRole(world, key, &role)
	out.Rules = len(rules)
	var texts []string
	for i := range rules[:min(len(rules), maxPhrases)] {
		texts = append(texts, phraseOf(&rules[i]))
	}
	out.Text = strings.Join(texts, "; ")
	return out
}

// phraseOf states what a rule is about.
func phraseOf(r *console.RoleRule) string {
	rule := statement.Row{Verbs: r.Verbs, APIGroups: r.APIGroups, Resources: r.Resources, NonResourceURLs: r.Paths}
	text := rule.Phrase(statement.Longest)
	if r.Condition != "" {
		text += " (" + r.Condition + ")"
	}
	if r.Effect == effectDeny {
		text = "denies " + text
	}
	return text
}

// policiesNaming adds the visibility policies that name one of some principals.
func (v *viewer) policiesNaming(principals []string, list []console.NamingPolicy) []console.NamingPolicy {
	t := tables.Of[*tables.Visibility](v.revision.tables)
	if t == nil {
		return list
	}
	for i := range t.Policies {
		p := &t.Policies[i]
		at := slices.IndexFunc(principals, func(principal string) bool { return isListed(p.SubjectKeys(), principal) })
		if at < 0 {
			continue
		}
		effect := effectAllow
		if p.Deny {
			effect = effectDeny
		}
		list = append(list, console.NamingPolicy{Subject: principals[at], Effect: effect, Kind: kindVisibility, Namespace: p.Namespace, Name: p.Name, Source: p.Source})
	}
	return list
}

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
		return "", tables.Role{}, &console.Error{
			Reason:  console.Invalid,
			Field:   "family",
			Message: "family must be kubernetes or origin",
		}
	case q.Family != "":
		families = []string{q.Family}
	}
	for _, family := range families {
		key := tables.RoleKey(family, q.Namespace, q.Name)
		if role := access.Roles.At(key); role.Name != "" {
			return key, role, nil
		}
	}
	return "", tables.Role{}, console.Errorf(console.NotFound, "role %q does not exist", tables.FullName(q.Namespace, q.Name))
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
