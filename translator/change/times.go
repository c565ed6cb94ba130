package change

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/writ-policy/writ/translator/change/statement"
	"github.com/writ-policy/writ/translator/tables"
)

// lastYear is the last whole year in which an engine decides.
const lastYear = 2261

// boundary is a time at which a visibility policy begins or has ended to hold.
type boundary struct {
	at    time.Time
	first time.Time // from which the policies decide in another way
	what  string
	// isChanged reports that the other revision lacks the policy or has another one.
	isChanged bool
}

// boundaries returns the times after now at which a policy of a revision begins to hold,
// and those that are the last ones at which it does.
func (c *comparison) boundaries() []boundary {
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
				out = append(out, boundary{t.UTC(), t.UTC(), name + " begins", isChanged})
			}
			if t := p.NotAfter; t != nil && !t.Before(c.o.Now) {
				out = append(out, boundary{t.UTC(), t.UTC().Add(time.Nanosecond), name + " ends", isChanged})
			}
		}
	}
	out = slices.DeleteFunc(out, func(b boundary) bool { return b.first.Year() > lastYear })
	slices.SortStableFunc(out, func(x, y boundary) int { return x.at.Compare(y.at) })
	return out
}

// withoutLines returns a policy without what depends on its place among the documents.
func withoutLines(p *tables.VisibilityPolicy) tables.VisibilityPolicy {
	out := p.WithoutSources()
	out.Module = ""
	return out
}

// times returns the times of the comparison: now and the first time after each later
// boundary that is compared.
func (c *comparison) times(points []string) []time.Time {
	out := []time.Time{c.o.Now}
	if c.o.SetNow == nil || !slices.Contains(points, statement.PointVisibility) {
		return out
	}
	for _, b := range c.boundaries() {
		if b.isChanged || c.o.AllTimes {
			out = append(out, b.first)
		}
	}
	slices.SortFunc(out, time.Time.Compare)
	return slices.CompactFunc(out, time.Time.Equal)
}

// setUntil sets the next time at which a visibility policy begins or ends to hold, and the
// first of them after which the revisions are not compared.
func (c *comparison) setUntil(r *Report, times []time.Time) {
	later := c.boundaries()
	if !slices.Contains(r.Coverage.Points, statement.PointVisibility) || len(later) == 0 {
		return
	}
	r.Until = &later[0].at
	for i := range later {
		if b := &later[i]; !slices.ContainsFunc(times, b.first.Equal) {
			r.Coverage.Until, r.Coverage.holds = &b.at, b.what
			return
		}
	}
}
