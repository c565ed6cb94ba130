package question

import (
	"context"
	"slices"

	"github.com/writ-policy/writ/analysis/statement"
)

// passage is what may let a request pass pod security whatever the score of its pod is: a
// namespace that is exempt, an escalation, or a session.
type passage struct {
	must []*statement.Statement
	set  func(*statement.Request)
}

// passages returns those that some principals may use, past pod security among statements.
func (a *Asker) passages(denials []*statement.Statement, principals []string) []passage {
	var exempt []*statement.Statement
	for _, s := range denials {
		if s.ReadsPod() && s.PodSecurity().ExemptNamespaces != nil {
			exempt = append(exempt, statement.InNamespaces(s.PodSecurity().ExemptNamespaces))
		}
	}
	var out []passage
	for i := range exempt {
		out = append(out, passage{must: exempt[i : i+1]})
	}
	if len(exempt) > 1 {
		out = append(out, passage{must: exempt})
	}
	for _, e := range a.World.Escalations() {
		if statement.MayOverride(e, principals) {
			set := func(r *statement.Request) { r.Escalation = e.Name }
			out = append(out, passage{[]*statement.Statement{statement.OverrideStatement(e)}, set})
		}
	}
	for _, p := range principals {
		for _, session := range a.World.Sessions().Of(p) {
			out = append(out, passage{set: func(r *statement.Request) { r.Cluster = session.Cluster }})
		}
	}
	return out
}

// passing looks for a request that t allows past pod security among some denials, of which no
// other one fits it.
func (a *Asker) passing(ctx context.Context, q *Question, t *statement.Statement, denials []*statement.Statement, principals []string) (map[string]any, error) {
	others := slices.DeleteFunc(slices.Clone(denials), (*statement.Statement).ReadsPod)
	if len(others) == len(denials) {
		return nil, nil
	}
	for _, way := range a.passages(denials, principals) {
		pin := func(r *statement.Request) bool {
			if way.set != nil {
				way.set(r)
			}
			return q.pin(r) // which states again what is not open
		}
		r := q.findPinned(pin, append([]*statement.Statement{t}, way.must...), others, principals)
		if r == nil {
			continue
		}
		if found, err := a.probe(ctx, q, r, t); found != nil || err != nil {
			return found, err
		}
	}
	return nil, nil
}

// mayPass reports whether pod security may let a pod of the question pass that was not tried.
func (q *Question) mayPass(s *statement.Statement) bool {
	return q.open["pod"] && s.ReadsPod() && s.MayPass()
}
