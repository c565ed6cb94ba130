package verify

import (
	"slices"
	"time"

	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/translator/assertion"
)

// bounds returns the times at which documents of some revisions begin or end at a point, sorted.
func bounds(point string, sides ...*diff.Side) []diff.Boundary {
	var out []diff.Boundary
	for _, side := range sides {
		if side != nil {
			out = append(out, diff.Boundaries(side.World.Whole(), point)...)
		}
	}
	slices.SortFunc(out, func(x, y diff.Boundary) int { return x.First.Compare(y.First) })
	return slices.CompactFunc(out, func(x, y diff.Boundary) bool { return x.First.Equal(y.First) })
}

// times returns the times at which an assertion is proven: now, or one in each piece
// between the times at which documents begin or end.
func (r *run) times(a *assertion.Assertion, other *diff.Side) []time.Time {
	if !a.Time.Any && !a.Time.Interval {
		return []time.Time{r.Now}
	}
	all := bounds(a.Point, r.Side, other, r.Base)
	first := r.Now
	switch {
	case a.Time.From != nil:
		first = *a.Time.From
	case len(all) > 0:
		first = all[0].First.Add(-time.Second)
	}
	if to := a.Time.To; to != nil && first.After(*to) {
		first = *to
	}
	out := []time.Time{first}
	for _, b := range all {
		if b.First.After(first) && (a.Time.To == nil || !b.First.After(*a.Time.To)) {
			out = append(out, b.First)
		}
	}
	return out
}

// until returns the next time at which a verdict may be another one, nil without any.
func (r *run) until() *time.Time {
	var next []diff.Boundary
	seen := make(map[string]bool)
	for i := range r.Assertions {
		a := &r.Assertions[i]
		for _, e := range a.Exceptions {
			next = append(next, diff.Boundary{At: e.Until, First: e.Until})
		}
		if isNow := !a.Time.Any && !a.Time.Interval; !isNow {
			continue
		}
		if !seen[a.Point] {
			seen[a.Point] = true
			next = append(next, bounds(a.Point, r.Side, r.Base)...)
		}
		if other := r.references[a]; other != nil {
			next = append(next, bounds(a.Point, other)...)
		}
	}
	slices.SortFunc(next, func(x, y diff.Boundary) int { return x.At.Compare(y.At) })
	for _, b := range next {
		if b.First.After(r.Now) {
			at := b.At.UTC()
			return &at
		}
	}
	return nil
}
