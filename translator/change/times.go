package change

import (
	"fmt"
	"slices"
	"time"

	"github.com/writ-policy/writ/translator/change/statement"
)

// boundary is a time at which a visibility policy begins or has ended to hold.
type boundary struct {
	at    time.Time
	first time.Time // from which the policies decide in another way
	what  string
}

// boundaries returns the times after now at which a policy of a revision begins to hold,
// and those that are the last ones at which it does.
func (c *comparison) boundaries() []boundary {
	var out []boundary
	for _, w := range []*statement.World{c.a.World, c.b.World} {
		for _, p := range visibilityOf(w).Policies {
			if p.Disabled || p.Malformed {
				continue
			}
			name := fmt.Sprintf("%s %s/%s", statement.KindVisibility, p.Namespace, p.Name)
			if p.NotBefore != nil && p.NotBefore.After(c.o.Now) {
				out = append(out, boundary{p.NotBefore.UTC(), p.NotBefore.UTC(), name + " begins"})
			}
			if p.NotAfter != nil && !p.NotAfter.Before(c.o.Now) {
				out = append(out, boundary{p.NotAfter.UTC(), p.NotAfter.UTC().Add(time.Nanosecond), name + " ends"})
			}
		}
	}
	slices.SortStableFunc(out, func(x, y boundary) int { return x.at.Compare(y.at) })
	return out
}

// times returns the times of the comparison: now and, if all are wanted, the first time
// after each later boundary.
func (c *comparison) times(points []string) []time.Time {
	out := []time.Time{c.o.Now}
	if c.o.SetNow == nil || !slices.Contains(points, statement.PointVisibility) {
		return out
	}
	for _, b := range c.boundaries() {
		out = append(out, b.first)
	}
	slices.SortFunc(out, time.Time.Compare)
	return slices.CompactFunc(out, time.Time.Equal)
}

// setUntil sets the next time at which a visibility policy begins or ends to hold. A
// comparison at all times holds from then on.
func (c *comparison) setUntil(r *Report) {
	next := c.boundaries()
	if !slices.Contains(r.Coverage.Points, statement.PointVisibility) || len(next) == 0 {
		return
	}
	r.Until = &next[0].at
	if c.o.SetNow == nil {
		r.Coverage.Until, r.Coverage.holds = r.Until, next[0].what
	}
}
