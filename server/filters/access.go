package filters

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/writ-policy/writ/analysis/filter"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/tables"
)

// allowed returns the condition that the request is allowed with a row in it.
func (q *Question) allowed(ctx context.Context, world *statement.World, p decision.Policies, out *Answer) (filter.Condition, error) {
	asked := q.access.Completed(p)
	if err := tables.CheckCluster(world.Access.Cluster, asked.Cluster); err != nil {
		return filter.Condition{}, err
	}
	a := filter.Asked{Holds: SettledBy(ctx, p, asked, q.open).Holds, HasPod: asked.Pod != nil || asked.PodError != "", Open: statement.Open{
		Name: slices.Contains(q.open, "name"), Namespace: slices.Contains(q.open, "namespace"),
		Labels: slices.Contains(q.open, "labels"), NamespaceLabels: slices.Contains(q.open, "namespaceLabels"),
	}}
	r := StatementRequest(asked).KeepWords()
	r.Cluster = cmp.Or(r.Cluster, world.Access.Cluster)
	a.Request = r
	list, until := RulesOf(world, r, a.Open.Namespace, dates.Of(p.Now()))
	c, used := filter.Allowed(list, a)
	out.Until = until
	out.Matched = slices.Grow(out.Matched, len(used))
	for _, s := range sorted(used) {
		out.Matched = append(out.Matched, matched(world, s))
	}
	return c, nil
}

// StatementRequest returns a request as statements read it.
func StatementRequest(asked *decision.Request) *statement.Request {
	var members map[string]any
	if err := json.Unmarshal(asked.Encode(), &members); err != nil {
		panic(err) // it was encoded as JSON
	}
	r := &statement.Request{User: asked.User, Groups: asked.Groups}
	for _, set := range statement.Setters(members, nil) {
		set(r)
	}
	return r
}

// RulesOf returns the statements that hold at an instant and that decisions on requests of a
// user and groups depend on, in the namespace of the request or everywhere. until is the
// first instant at which there are others, nil for never.
func RulesOf(world *statement.World, r *statement.Request, everywhere bool, at dates.Instant) (list []*statement.Statement, until *string) {
	span := dates.Span{}
	for _, s := range rulesFor(world.Whole(), r, everywhere) {
		span = span.Around(at, s.Dates)
		holds := s.Dates.Holds(at)
		if s.Session != nil {
			span = span.Around(at, s.Session.Dates)
			holds = holds && s.Session.Dates.Holds(at)
		}
		if holds {
			list = append(list, s)
		}
	}
	if span.End != nil {
		text := span.End.String()
		until = &text
	}
	return list, until
}

// rulesFor returns the statements of deny policies and those of the principals of a request,
// each once.
func rulesFor(w *statement.World, r *statement.Request, everywhere bool) []*statement.Statement {
	list, seen := slices.Clone(w.Deny), make(map[*statement.Statement]bool)
	for _, principal := range statement.Principals(r.User, r.Groups) {
		var own []*statement.Statement
		switch {
		case everywhere:
			own = w.Held(principal, "")
		case r.Namespace == "":
			own = append(w.In(principal, ""), w.Sessions().In(principal, "")...)
		default:
			own = w.Held(principal, r.Namespace)
		}
		for _, s := range own {
			if !seen[s] {
				seen[s] = true
				list = append(list, s)
			}
		}
	}
	return list
}

// sorted orders statements as decisions order the rules that matched: deny policies as they
// are evaluated, then bindings.
func sorted(list []*statement.Statement) []*statement.Statement {
	slices.SortStableFunc(list, func(s, t *statement.Statement) int {
		if s.Policy() != nil && t.Policy() != nil {
			return 0
		}
		d, e := &s.Documents[0], &t.Documents[0]
		return cmp.Or(cmp.Compare(s.Step, t.Step), cmp.Compare(d.Kind, e.Kind), cmp.Compare(d.Namespace, e.Namespace),
			cmp.Compare(d.Name, e.Name), cmp.Compare(d.Rule, e.Rule))
	})
	return list
}

// matched returns a statement as decisions name the rules that matched.
func matched(w *statement.World, s *statement.Statement) decision.Matched {
	d := &s.Documents[0]
	m := decision.Matched{Kind: d.Kind, Namespace: d.Namespace, Name: d.Name, Rule: d.Rule, Source: d.Source, Effect: s.Effect, Until: s.Dates.End()}
	if s.Policy() != nil {
		m.APIVersion = tables.BreakglassVersion
		return m
	}
	role := w.Access.Roles.At(d.Role)
	m.Role = &decision.RoleRef{Kind: role.Kind, Namespace: role.Namespace, Name: role.Name}
	m.APIVersion = w.Access.Bindings.At(tables.BindingKey(role.Family, d.Namespace, d.Name)).APIVersion
	m.Binding = decision.BindingRef{Source: d.Binding.Source}
	return m
}
