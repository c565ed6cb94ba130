package question

import (
	"context"
	"slices"

	"github.com/writ-policy/writ/analysis/statement"
)

// Cell is the verdict of a question on a subject.
type Cell struct {
	// Outcome is allow, deny, none, or depends if open members decide.
	Outcome string
	// Text is on what it depends.
	Text string
	// Request is a request of the question by the subject: one that is allowed, if any is.
	Request map[string]any
}

// depends is the outcome of a Cell that open members decide.
const depends = "depends"

// Table answers questions about one subject after the other. It looks at the bindings of
// that subject alone, so that a page of a long list costs what the page does; what
// subjects have in common is computed once. It must not be used concurrently.
type Table struct {
	a       *Asker
	columns []*column
}

// column is a question with what is known of its answers.
type column struct {
	*Question
	f     *fitting
	alike map[string]Cell // by likeness of statements
}

// Table returns a table of questions that state the same namespace, or none. It returns an
// error if the revision does not decide on the cluster of a question.
func (a *Asker) Table(questions []*Question) (*Table, error) {
	t := &Table{a: a}
	for _, q := range questions {
		if err := a.prepare(q); err != nil {
			return nil, err
		}
		t.columns = append(t.columns, &column{q, q.fit(a.World.Deny), make(map[string]Cell)})
	}
	return t, nil
}

// Row returns the verdicts of all questions on a subject: a user, groups or both.
func (t *Table) Row(ctx context.Context, principals []string) ([]Cell, error) {
	own := t.a.bound(t.columns[0].Question, principals)
	cells := make([]Cell, 0, len(t.columns))
	for _, c := range t.columns {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		cell, err := t.a.cellLike(ctx, c, own, principals)
		if err != nil {
			return nil, err
		}
		cells = append(cells, cell)
	}
	return cells, nil
}

// cellLike returns the verdict on a subject. As in subjectLike, subjects with the same
// conditions in the same places differ in their names alone.
func (a *Asker) cellLike(ctx context.Context, c *column, own []*statement.Statement, principals []string) (Cell, error) {
	own = slices.DeleteFunc(slices.Clone(own), func(s *statement.Statement) bool { return !c.f.fits(c.Question, s) })
	key, ok := a.likeness(c.Question, c.f.deny, own, principals...)
	if like, found := c.alike[key]; ok && found {
		like.Request = by(principals, like.Request)
		return like, nil
	}
	cell, err := a.cell(ctx, c, own, principals)
	if err == nil {
		err = c.err()
	}
	if ok && err == nil {
		c.alike[key] = cell
	}
	return cell, err
}

// cell returns the verdict on a subject with its own statements. It is deny if a deny
// statement fits every request of the question, and nothing is allowed.
func (a *Asker) cell(ctx context.Context, c *column, own []*statement.Statement, principals []string) (Cell, error) {
	subject, err := a.subject(ctx, c.Question, c.f.deny, own, principals)
	switch {
	case err != nil:
		return Cell{}, err
	case subject != nil && subject.Verdict == verdictAlways:
		return Cell{Outcome: statement.OutcomeAllow, Request: subject.Example}, nil
	case subject != nil:
		return Cell{Outcome: depends, Text: subject.Text, Request: subject.Example}, nil
	}
	cell := Cell{Outcome: statement.OutcomeNone, Request: by(principals, c.Stated)}
	denials := slices.DeleteFunc(slices.Concat(c.f.deny, own), func(s *statement.Statement) bool { return s.Effect != statement.OutcomeDeny })
	for _, s := range denials {
		if c.find(nil, []*statement.Statement{s}, principals) == nil {
			cell.Outcome = statement.OutcomeDeny
			return cell, nil
		}
	}
	if r := c.find(nil, denials, principals); r != nil && len(denials) > 0 {
		cell.Request = r.Object(statement.PointAccess) // one that is not denied
	}
	return cell, nil
}

// Contrast returns two requests that differ from that of the question in its one open member
// alone, which they have: one that a statement fits, and one that it does not. Both are
// nil if such requests are not found.
func (q *Question) Contrast(s *statement.Statement, principals []string) (fits, other map[string]any) {
	q.prepare()
	list := []*statement.Statement{s}
	if r := q.find([]*statement.Statement{s.Known(q.Open[0])}, nil, principals); r != nil {
		fits = r.Object(statement.PointAccess)
	}
	if r := q.find(nil, list, principals); r != nil {
		other = r.Object(statement.PointAccess)
	}
	return fits, other
}
