package question

import (
	"context"
	"maps"
	"slices"

	"github.com/writ-policy/writ/translator/change/statement"
)

// Cell is the verdict of a question on one principal.
type Cell struct {
	// Outcome is allow, deny, none, or depends if open members decide.
	Outcome string
	// Text is on what it depends.
	Text string
	// Request is a request of the question by the principal: one that is allowed, if any is.
	Request map[string]any
}

// depends is the outcome of a Cell that open members decide.
const depends = "depends"

// Cells returns the verdicts on principals. It looks at their own bindings alone, so that
// a page of a long list costs what the page does.
func (a *Asker) Cells(ctx context.Context, q *Question, principals []string) ([]Cell, error) {
	q.prepare()
	namespace, isStated := q.namespace()
	seen := make(map[*statement.Statement]bool)
	var bound []*statement.Statement
	for _, p := range principals {
		own := a.World.In(p, "")
		if !isStated || namespace != "" {
			own = a.World.Of(p, namespace)
		}
		for _, s := range own {
			if !seen[s] {
				seen[s] = true
				bound = append(bound, s)
			}
		}
	}
	f := q.fit(a.World.Deny, bound)
	cells := make([]Cell, 0, len(principals))
	for _, p := range principals {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		cell, err := a.cell(ctx, q, f, p)
		if err != nil {
			return nil, err
		}
		cells = append(cells, cell)
	}
	return cells, q.err()
}

// cell returns the verdict on one principal. It is deny if a deny statement fits every
// request of the question, and nothing is allowed.
func (a *Asker) cell(ctx context.Context, q *Question, f *fitting, p string) (Cell, error) {
	subject, err := a.subject(ctx, q, f, p)
	switch {
	case err != nil:
		return Cell{}, err
	case subject != nil && subject.Verdict == verdictAlways:
		return Cell{Outcome: statement.OutcomeAllow, Request: subject.Example}, nil
	case subject != nil:
		cell := Cell{Outcome: depends, Text: subject.Text, Request: subject.Example}
		if cell.Request == nil { // an expression may allow one that was not found
			cell.Request = q.alone(p)
		}
		return cell, nil
	}
	cell := Cell{Outcome: statement.OutcomeNone, Request: q.alone(p)}
	denials := slices.DeleteFunc(slices.Concat(f.deny, f.by[p]), func(s *statement.Statement) bool { return s.Effect != statement.OutcomeDeny })
	for _, s := range denials {
		if q.find(nil, []*statement.Statement{s}, []string{p}) == nil {
			cell.Outcome = statement.OutcomeDeny
			return cell, nil
		}
	}
	if r := q.find(nil, denials, []string{p}); r != nil && len(denials) > 0 {
		cell.Request = r.Object(statement.PointAccess) // one that is not denied
	}
	return cell, nil
}

// alone returns the stated members as a request by one principal.
func (q *Question) alone(principal string) map[string]any {
	r, _ := statement.RequestOf(statement.PointAccess, []string{principal})
	request := maps.Clone(q.Stated)
	for _, key := range []string{subjectUser, subjectGroups} {
		request[key] = r.Object(statement.PointAccess)[key]
	}
	return request
}
