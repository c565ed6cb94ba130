package diff

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/tables"
)

// lastYear is the last whole year in which an engine decides.
const lastYear = 2261

// Boundary is a time at which a document begins or has ended to hold.
type Boundary struct {
	At    time.Time
	First time.Time // from which the documents decide in another way
	what  string
	// dated is a document at the point access, policy one at the point visibility.
	dated  *statement.Dated
	policy *tables.VisibilityPolicy
}

// Boundaries returns the times at which the documents of a point begin to hold, and those at which
// they end: the last ones of a visibility policy, which holds at its end.
func Boundaries(w *statement.World, point string) []Boundary {
	var out []Boundary
	if point == statement.PointVisibility {
		out = visibilityBoundaries(w)
	} else { // rules of the gateway may ask the point access
		out = accessBoundaries(w)
	}
	return slices.DeleteFunc(out, func(b Boundary) bool { return b.First.Year() > lastYear })
}

// accessBoundaries returns those of bindings, deny policies and sessions.
func accessBoundaries(w *statement.World) []Boundary {
	var out []Boundary
	for _, d := range slices.Concat(w.Dated(), w.DatedSessions()) {
		for _, at := range d.Dates.Bounds() {
			what := statement.DocumentName(d.Document) + " ends"
			if d.Dates.From != nil && *d.Dates.From == at {
				what = statement.DocumentName(d.Document) + " begins"
			}
			out = append(out, Boundary{At: at.Time(), First: at.Time(), what: what, dated: &d})
		}
	}
	return out
}

func visibilityBoundaries(w *statement.World) []Boundary {
	var out []Boundary
	policies := visibilityOf(w).Policies
	for i := range policies {
		p := &policies[i]
		if p.Disabled || p.Malformed {
			continue
		}
		name := fmt.Sprintf("%s %s/%s", statement.KindVisibility, p.Namespace, p.Name)
		if t := p.NotBefore; t != nil {
			out = append(out, Boundary{At: t.UTC(), First: t.UTC(), what: name + " begins", policy: p})
		}
		if t := p.NotAfter; t != nil {
			out = append(out, Boundary{At: t.UTC(), First: t.UTC().Add(time.Nanosecond), what: name + " ends", policy: p})
		}
	}
	return out
}

// boundary is a Boundary of one of two revisions.
type boundary struct {
	Boundary
	point string
	// isChanged reports that the other revision lacks the document or has another one.
	isChanged bool
}

// boundaries returns those of both revisions after now.
func (c *comparison) boundaries(points []string) []boundary {
	var out []boundary
	worlds := []*statement.World{c.a.World, c.b.World}
	for _, point := range []string{statement.PointVisibility, statement.PointAccess} {
		if !slices.Contains(points, point) {
			continue
		}
		for i, w := range worlds {
			other := worlds[1-i]
			policies := visibilityOf(other).Policies
			named := make(map[[2]string]*tables.VisibilityPolicy)
			for j := range policies {
				named[[2]string{policies[j].Namespace, policies[j].Name}] = &policies[j]
			}
			for _, b := range Boundaries(w, point) {
				if !b.First.After(c.o.Now) {
					continue
				}
				isSame := false
				if p := b.policy; p == nil {
					isSame = w.HasSame(other, *b.dated)
				} else if q := named[[2]string{p.Namespace, p.Name}]; q != nil {
					isSame = reflect.DeepEqual(withoutLines(p), withoutLines(q))
				}
				out = append(out, boundary{b, point, !isSame})
			}
		}
	}
	slices.SortStableFunc(out, func(x, y boundary) int { return x.At.Compare(y.At) })
	return out
}

// withoutLines returns a policy without what depends on its place among the documents.
func withoutLines(p *tables.VisibilityPolicy) tables.VisibilityPolicy {
	out := p.WithoutSources()
	out.Module = ""
	return out
}

// moment is a time of a comparison, with the points that are compared then.
type moment struct {
	at     time.Time
	points []string
}

// times returns the times of the comparison: now and the first time after each later
// boundary that is compared.
func (c *comparison) times(points []string) []moment {
	out := []moment{{c.o.Now, points}}
	if c.o.SetNow == nil {
		return out
	}
	for _, b := range c.boundaries(points) {
		if !b.isChanged && !c.o.AllTimes {
			continue
		}
		last := slices.IndexFunc(out, func(m moment) bool { return m.at.Equal(b.First) })
		switch {
		case last < 0:
			out = append(out, moment{b.First, pointsFor(points, b.point)})
		case !slices.Contains(out[last].points, b.point):
			out[last].points = append(slices.Clone(out[last].points), pointsFor(points, b.point)...)
		}
	}
	slices.SortFunc(out, func(x, y moment) int { return x.at.Compare(y.at) })
	return out
}

// pointsFor returns those of some points that a boundary of a point concerns: rules of the
// gateway ask the point access.
func pointsFor(points []string, point string) []string {
	out := []string{point}
	if point == statement.PointAccess && slices.Contains(points, statement.PointGateway) {
		out = append(out, statement.PointGateway)
	}
	return out
}

// setUntil sets the next time at which a document begins or ends to hold, and the first of
// them after which the revisions are not compared.
func (c *comparison) setUntil(r *Report, times []moment) {
	later := c.boundaries(r.Coverage.Points)
	if len(later) == 0 {
		return
	}
	r.Until = &later[0].At
	for i := range later {
		if b := &later[i]; !slices.ContainsFunc(times, func(m moment) bool { return m.at.Equal(b.First) }) {
			r.Coverage.Until, r.Coverage.holds = &b.At, b.what
			return
		}
	}
}
