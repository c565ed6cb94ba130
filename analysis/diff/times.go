package diff

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/tables"
)

// lastYear is the last whole year in which an engine decides.
const lastYear = 2261

// boundary is a time at which a document begins or has ended to hold.
type boundary struct {
	at    time.Time
	first time.Time // from which the documents decide in another way
	point string
	what  string
	// isChanged reports that the other revision lacks the document or has another one.
	isChanged bool
}

// boundaries returns the times after now at which a document of a revision begins to hold,
// and those at which it ends: the last ones of a visibility policy, which holds at its end.
func (c *comparison) boundaries(points []string) []boundary {
	var out []boundary
	if slices.Contains(points, statement.PointVisibility) {
		out = c.visibilityBoundaries()
	}
	if slices.Contains(points, statement.PointAccess) {
		out = append(out, c.accessBoundaries()...)
	}
	out = slices.DeleteFunc(out, func(b boundary) bool { return b.first.Year() > lastYear })
	slices.SortStableFunc(out, func(x, y boundary) int { return x.at.Compare(y.at) })
	return out
}

// accessBoundaries returns those of bindings, deny policies and sessions.
func (c *comparison) accessBoundaries() []boundary {
	var out []boundary
	worlds := []*statement.World{c.a.World, c.b.World}
	now := dates.Of(c.o.Now)
	for i, w := range worlds {
		for _, d := range slices.Concat(w.Dated(), w.DatedSessions()) {
			for _, at := range d.Dates.Bounds() {
				if at <= now {
					continue
				}
				what := statement.DocumentName(d.Document) + " ends"
				if d.Dates.From != nil && *d.Dates.From == at {
					what = statement.DocumentName(d.Document) + " begins"
				}
				out = append(out, boundary{at.Time(), at.Time(), statement.PointAccess, what, !w.HasSame(worlds[1-i], d)})
			}
		}
	}
	return out
}

func (c *comparison) visibilityBoundaries() []boundary {
	var out []boundary
	lists := [][]tables.VisibilityPolicy{visibilityOf(c.a.World).Policies, visibilityOf(c.b.World).Policies}
	for i, list := range lists {
		others := make(map[[2]string]*tables.VisibilityPolicy)
		for j := range lists[1-i] {
			p := &lists[1-i][j]
			others[[2]string{p.Namespace, p.Name}] = p
		}
		for j := range list {
			p := &list[j]
			if p.Disabled || p.Malformed {
				continue
			}
			other := others[[2]string{p.Namespace, p.Name}]
			isChanged := other == nil || !reflect.DeepEqual(withoutLines(p), withoutLines(other))
			name := fmt.Sprintf("%s %s/%s", statement.KindVisibility, p.Namespace, p.Name)
			if t := p.NotBefore; t != nil && t.After(c.o.Now) {
				out = append(out, boundary{t.UTC(), t.UTC(), statement.PointVisibility, name + " begins", isChanged})
			}
			if t := p.NotAfter; t != nil && !t.Before(c.o.Now) {
				out = append(out, boundary{t.UTC(), t.UTC().Add(time.Nanosecond), statement.PointVisibility, name + " ends", isChanged})
			}
		}
	}
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
		last := slices.IndexFunc(out, func(m moment) bool { return m.at.Equal(b.first) })
		switch {
		case last < 0:
			out = append(out, moment{b.first, pointsFor(points, b.point)})
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
	r.Until = &later[0].at
	for i := range later {
		if b := &later[i]; !slices.ContainsFunc(times, func(m moment) bool { return m.at.Equal(b.first) }) {
			r.Coverage.Until, r.Coverage.holds = &b.at, b.what
			return
		}
	}
}
