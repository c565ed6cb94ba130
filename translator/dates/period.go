package dates

import (
	"slices"
	"time"
)

// Period is the time in which a document holds: from From, and before Until. The nil Period
// is unlimited. It must not be modified.
type Period struct {
	// From and Until are nil without that bound.
	From  *Instant `json:"from,omitempty"`
	Until *Instant `json:"until,omitempty"`
	// Never is true for a period without any instant of the clock.
	Never bool `json:"never,omitempty"`
}

// Never is the period without any instant.
var Never = &Period{Never: true}

// Between returns the period between two times, either of which may be nil. A bound that
// the clock does not reach is left out, or leaves no instant.
func Between(from, until *time.Time) *Period {
	var p Period
	if from != nil {
		switch at := Of(*from); {
		case from.After(last.Time()):
			return Never
		case at > first:
			p.From = &at
		}
	}
	if until != nil {
		switch at := Of(*until); {
		case !until.After(first.Time()):
			return Never
		case !until.After(last.Time()):
			p.Until = &at
		}
	}
	if p.From == nil && p.Until == nil {
		return nil
	}
	return &p
}

// Holds reports whether an instant is within the period.
func (p *Period) Holds(at Instant) bool {
	return p == nil || !p.Never && (p.From == nil || *p.From <= at) && (p.Until == nil || at < *p.Until)
}

// Equal reports whether two periods have the same bounds.
func (p *Period) Equal(q *Period) bool {
	if p == nil || q == nil {
		return p == q
	}
	return p.Never == q.Never && same(p.From, q.From) && same(p.Until, q.Until)
}

func same(a, b *Instant) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// Begin returns From as text, empty without that bound.
func (p *Period) Begin() string {
	if p == nil || p.From == nil {
		return ""
	}
	return p.From.String()
}

// End returns Until as text, empty without that bound.
func (p *Period) End() string {
	if p == nil || p.Until == nil {
		return ""
	}
	return p.Until.String()
}

// Status says why the period does not have an instant: "begins T", "ended T" or "holds
// never". It is empty for an instant within the period.
func (p *Period) Status(at Instant) string {
	switch {
	case p.Holds(at):
		return ""
	case p.Never:
		return "holds never"
	case p.From != nil && at < *p.From:
		return "begins " + p.From.String()
	}
	return "ended " + p.Until.String()
}

// Samples returns instants at each bound and one nanosecond before it: those within the
// period, and those out of it. They show when a document begins and ends.
func (p *Period) Samples() (within, out []Instant) {
	if p == nil || p.Never {
		return nil, []Instant{0}
	}
	for _, bound := range p.Bounds() {
		for _, at := range []Instant{bound - 1, bound} {
			if p.Holds(at) {
				within = append(within, at)
			} else {
				out = append(out, at)
			}
		}
	}
	return sorted(within), sorted(out)
}

// Bounds returns the instants at which the period begins and ends.
func (p *Period) Bounds() []Instant {
	var out []Instant
	if p == nil || p.Never {
		return nil
	}
	if p.From != nil {
		out = append(out, *p.From)
	}
	if p.Until != nil {
		out = append(out, *p.Until)
	}
	return out
}

// Span is the time around an instant in which no period begins or ends: from Begin, and
// before End. Without a bound that is nil; the zero value is all times.
type Span struct{ Begin, End *Instant }

// Around returns the span narrowed about an instant by the bounds of a period.
func (s Span) Around(at Instant, p *Period) Span {
	if p == nil || p.Never {
		return s
	}
	for _, bound := range [...]*Instant{p.From, p.Until} {
		switch {
		case bound == nil:
		case *bound > at && (s.End == nil || *bound < *s.End):
			s.End = bound
		case *bound <= at && (s.Begin == nil || *bound > *s.Begin):
			s.Begin = bound
		}
	}
	return s
}

// IsLimited reports whether the span has a bound.
func (s Span) IsLimited() bool { return s.Begin != nil || s.End != nil }

// Contains reports whether an instant is within the span.
func (s Span) Contains(at Instant) bool {
	return (s.Begin == nil || *s.Begin <= at) && (s.End == nil || at < *s.End)
}

// sorted sorts instants in place and returns each once.
func sorted(list []Instant) []Instant {
	slices.Sort(list)
	return slices.Compact(list)
}
