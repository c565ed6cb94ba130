package question

import (
	"context"
	"slices"

	"github.com/writ-policy/writ/analysis/statement"
)

// Allowance is whether principals that are held together are allowed the requests of a question.
type Allowance struct {
	// Always states that they are allowed every one, denials of deny policies included.
	Always bool
	// Allowed is a request that is allowed. It is nil if no request is, and if Inexact is set
	// and none was found.
	Allowed map[string]any
	// Refused is a request that is not, if one was found.
	Refused map[string]any
	// Inexact states that an expression or an extension decides.
	Inexact bool
	// Opaque are the reasons of the statements that no list expresses: pod, cel or
	// extension:NAME.
	Opaque []string
}

// Allowance returns what principals are allowed of the requests of a question, nil for
// nothing. In contrast to WhoCan it counts the denials of deny policies: of those that deny
// has, which are all that may fit.
func (a *Asker) Allowance(ctx context.Context, q *Question, principals []string, deny []*statement.Statement) (*Allowance, error) {
	if err := a.prepare(q); err != nil {
		return nil, err
	}
	f := q.fit(deny)
	own := slices.DeleteFunc(a.bound(q, principals), func(s *statement.Statement) bool { return !f.fits(q, s) })
	subject, err := a.subject(ctx, q, f.deny, own, principals)
	if err != nil || subject == nil {
		return nil, err
	}
	out := &Allowance{Allowed: subject.Example, Refused: subject.Counterexample, Inexact: subject.Inexact,
		Always: subject.Verdict == verdictAlways && len(f.deny) == 0}
	for _, s := range slices.Concat(f.deny, own) {
		if s.Opaque != "" && !slices.Contains(out.Opaque, s.Opaque) {
			out.Opaque = append(out.Opaque, s.Opaque)
		}
	}
	for _, d := range f.deny {
		if r := q.find([]*statement.Statement{d}, nil, principals); r != nil && out.Refused == nil && d.Opaque == "" {
			out.Refused = r.Object(statement.PointAccess)
		}
	}
	return out, q.err()
}
