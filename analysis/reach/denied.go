package reach

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/tables"
)

// Denied returns the paths that there would be without denials, of the pairs of a report that
// have none as good, each with the documents that deny its hops. What follows a changed document
// is decided by statements.
func Denied(ctx context.Context, o Options, report *Report) ([]Path, error) {
	o.From, o.To = slices.Clone(o.From), slices.Clone(o.To)
	o.standIn = standInFor(o.World)
	served := newWorld(o.World, &o, newMemory(), nil)
	if o.Judge != nil {
		served.engine = o.Judge
	}
	o.World, o.Judge, o.Rebuild, o.unchecked, o.Cuts = withoutDenials(o.World), nil, nil, true, false
	all, err := Find(ctx, o)
	if err != nil {
		return nil, err
	}
	best := make(map[pair]Class)
	for i := range report.Paths {
		if p := &report.Paths[i]; best[pairOf(p)] >= p.Class || len(p.Hops) == 0 {
			best[pairOf(p)] = p.Class
		}
	}
	out := []Path{}
	for i := range all.Paths {
		p := &all.Paths[i]
		if class, known := best[pairOf(p)]; known && class <= p.Class {
			continue
		}
		isDenied, err := served.deny(ctx, p)
		if err != nil {
			return nil, err
		}
		if isDenied {
			out = append(out, *p)
		}
	}
	return out, nil
}

// withoutDenials returns a revision without deny policies and deny rules.
func withoutDenials(w *statement.World) *statement.World {
	list := slices.Clone(w.Revision.Tables)
	for i, table := range list {
		switch t := table.(type) {
		case *tables.Deny:
			left := *t
			left.Policies = nil
			list[i] = &left
		case *tables.Access:
			left, changed := *t, make(map[string]*tables.Role)
			for key, r := range t.Roles.All() {
				isDenial := func(o tables.OriginRule) bool { return o.Deny }
				if slices.ContainsFunc(r.Origin, isDenial) {
					role := *r
					role.Origin = slices.DeleteFunc(slices.Clone(r.Origin), isDenial)
					changed[key] = &role
				}
			}
			left.Roles = t.Roles.With(changed)
			list[i] = &left
		}
	}
	return statement.NewWorld(tables.Revision{Tables: list, Modules: w.Revision.Modules})
}

// deny sets what denies the requests of a path. It reports whether something does.
func (w *world) deny(ctx context.Context, p *Path) (isDenied bool, err error) {
	for i := range p.Hops {
		h := &p.Hops[i]
		for _, object := range h.Requests {
			for _, r := range h.As.checked(merged(object, merged(w.o.Stated, h.Facts))) {
				outcome, by, err := w.decides(ctx, r)
				if err != nil {
					return false, err
				}
				if outcome == statement.OutcomeDeny && by != nil {
					h.Denies = append(h.Denies, w.grantOf(by))
					isDenied = true
				}
			}
		}
	}
	return isDenied, nil
}

// Exception is a path that is known and accepted: of one class or a worse one.
type Exception struct {
	From   tables.PathGlob // of the subject
	Text   string          // the pattern as it is written
	To     string
	Class  Class // the best class that is excepted; Certain for any
	Until  *time.Time
	Reason string
}

// except moves the paths that exceptions fit out of the report. One that is over does not
// count, and one that fits nothing is a note.
func (r *Report) except(list []Exception, now time.Time) {
	for i := range list {
		e := &list[i]
		if e.Until != nil && !now.Before(*e.Until) {
			r.Notes = append(r.Notes, fmt.Sprintf("the exception of %s to %s ended %s", e.Text, e.To, e.Until.UTC().Format(time.RFC3339)))
			continue
		}
		fits := func(p Path) bool { return e.To == p.To && p.Class >= e.Class && e.From.Match(p.Subject) }
		n := len(r.Excepted)
		r.Excepted = append(r.Excepted, elements.Filter(r.Paths, fits)...)
		if r.Paths = slices.DeleteFunc(r.Paths, fits); len(r.Excepted) == n {
			r.Notes = append(r.Notes, fmt.Sprintf("the exception of %s to %s fits no path", e.Text, e.To))
		}
	}
}
