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
	rule := map[string]any{"verbs": r.Verbs, "apiGroups": r.APIGroups, "resources": r.Resources, "nonResourceURLs": r.Paths}
	text := (&statement.JSON{Rule: rule}).Phrase(statement.Longest)
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
