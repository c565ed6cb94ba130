package verify

import (
	"slices"
	"time"

	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/translator/assertion"
	"github.com/writ-policy/writ/translator/tables"
)

// lastYear is the last whole year in which an engine decides.
const lastYear = 2261

// bound is a time at which a document begins or has ended to hold.
type bound struct {
	at    time.Time
	first time.Time // from which the documents decide in another way
}

// bounds returns the times of the documents of some revisions at a point, sorted.
func bounds(point string, sides ...*diff.Side) []bound {
	var out []bound
	for _, side := range sides {
		if side == nil {
			continue
		}
		if point == assertion.Visibility {
			out = append(out, visibilityBounds(tables.Of[*tables.Visibility](side.World.Whole().Revision.Tables))...)
			continue
		}
		w := side.World.Whole() // rules of the gateway may ask the point access
		for _, d := range slices.Concat(w.Dated(), w.DatedSessions()) {
			for _, at := range d.Dates.Bounds() {
				out = append(out, bound{at.Time(), at.Time()})
			}
		}
	}
	out = slices.DeleteFunc(out, func(b bound) bool { return b.first.Year() > lastYear })
	slices.SortFunc(out, func(x, y bound) int { return x.first.Compare(y.first) })
	return slices.CompactFunc(out, func(x, y bound) bool { return x.first.Equal(y.first) })
}

// visibilityBounds returns those of visibility policies, which hold at their end.
func visibilityBounds(t *tables.Visibility) []bound {
	if t == nil {
		return nil
	}
	var out []bound
	for i := range t.Policies {
		p := &t.Policies[i]
		if p.Disabled || p.Malformed {
			continue
		}
		if at := p.NotBefore; at != nil {
			out = append(out, bound{at.UTC(), at.UTC()})
		}
		if at := p.NotAfter; at != nil {
			out = append(out, bound{at.UTC(), at.UTC().Add(time.Nanosecond)})
		}
	}
	return out
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
		first = all[0].first.Add(-time.Second)
	}
	if to := a.Time.To; to != nil && first.After(*to) {
		first = *to
	}
	out := []time.Time{first}
	for _, b := range all {
		if b.first.After(first) && (a.Time.To == nil || !b.first.After(*a.Time.To)) {
			out = append(out, b.first)
		}
	}
	return out
}

// until returns the next time at which a verdict may be another one, nil without any.
func (r *run) until() *time.Time {
	var next []bound
	seen := make(map[string]bool)
	for i := range r.Assertions {
		a := &r.Assertions[i]
		for _, e := range a.Exceptions {
			next = append(next, bound{e.Until, e.Until})
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
	slices.SortFunc(next, func(x, y bound) int { return x.at.Compare(y.at) })
	for _, b := range next {
		if b.first.After(r.Now) {
			at := b.at.UTC()
			return &at
		}
	}
	return nil
}
