package change

import (
	"context"
	"slices"

	"github.com/writ-policy/writ/translator/tables"
)

// opaqueClass returns the inexact class of requests that fit s and one of some opaque
// statements; without the latter s is opaque itself.
func (d *side) opaqueClass(s *statement, opaque, exceptions []*statement, g *group) []*class {
	exceptions = exactOf(exceptions)
	if reduced := reduceBy(s, exceptions); reduced == nil {
		return nil
	} else if s.opaque == "" {
		s = reduced
	}
	exceptions = d.needed(s, exceptions, g.principals[0])
	c := &class{point: d.point, all: [][]*member{{d.own(s)}}, except: d.members(g.each(exceptions)), changes: d.possible(s)}
	readers := opaque
	if s.opaque != "" {
		readers = []*statement{s}
	} else {
		c.all = append(c.all, d.members(g.each(opaque)))
	}
	fits := false
	for _, t := range readers {
		c.why = append(c.why, t.opaque)
		contexts := []required{{}}
		if t.opaque == whyPod {
			contexts = exemptions([]*statement{t}, nil)
		}
		for _, by := range d.askers(s, exceptions, g) {
			for _, at := range contexts {
				must := slices.Concat([]*statement{s, t}, by.must, at.must)
				r := d.find(must, slices.Concat(exceptions, at.mustNot), nonEmpty(by.principal)...)
				if r == nil {
					continue
				}
				fits = true
				for _, object := range slices.Concat(variants(d.y.world, r, t, maxOpaqueTries), variants(d.x.world, r, t, maxOpaqueTries)) {
					d.record(c, object)
				}
			}
		}
	}
	slices.Sort(c.why)
	c.why = slices.Compact(c.why)
	if !fits || len(c.transitions) == 0 && slices.Equal(c.why, []string{whyPod}) {
		return nil
	}
	return []*class{c}
}

// asker is a principal to try, with statements that its requests must fit.
type asker struct {
	principal string
	must      []*statement
}

// askers returns principals to try: one of the group or, for a statement that concerns
// everybody, an unnamed one and one that is allowed in y.
func (d *side) askers(s *statement, exceptions []*statement, g *group) []asker {
	out := []asker{{principal: g.principals[0]}}
	if g.principals[0] != "" {
		return out
	}
	for _, t := range d.y.all(s.namespace) {
		if t.effect == outcomeAllow && t.opaque == "" && len(t.subjects) > 0 && d.overlaps(s, t) &&
			d.find([]*statement{s, t}, exceptions, t.subjects[0]) != nil {
			return append(out, asker{t.subjects[0], []*statement{t}})
		}
	}
	return out
}

// possible returns what a request that s decides in x may go through.
func (d *side) possible(s *statement) []string {
	if d.point == PointVisibility {
		return []string{changeGain, changeLoss}
	}
	var out []string
	for _, outcome := range []string{outcomeNone, outcomeAllow, outcomeDeny} {
		if outcome != s.effect && (s.effect == outcomeDeny || outcome != outcomeDeny || s.step < 5) {
			t := d.transition(s.effect, outcome, new(request))
			out = append(out, changeOf(d.point, t.from, t.to))
		}
	}
	return tables.Entries(out)
}

// record lets both revisions decide a request and records the transition, if there is
// one.
func (d *side) record(c *class, object map[string]any) {
	a, b, err := d.judges.both(d.ctx, d.point, object)
	if err != nil || a.Outcome == b.Outcome {
		return
	}
	change := changeOf(d.point, a.Outcome, b.Outcome)
	if !slices.Contains(c.changes, change) {
		return
	}
	c.record(object, a, b)
}

// record adds a transition that was found, unless the class has it.
func (c *class) record(object map[string]any, a, b Verdict) {
	for _, t := range c.transitions {
		if t.from == a.Outcome && t.to == b.Outcome {
			return
		}
	}
	c.transitions = append(c.transitions, &transition{from: a.Outcome, to: b.Outcome, request: object, a: a, b: b, affected: map[string]bool{}})
}

// judges decide requests by both revisions.
type judges struct{ a, b Judge }

func (j judges) both(ctx context.Context, point string, object map[string]any) (a, b Verdict, err error) {
	text := encode(object)
	if a, err = j.a(ctx, point, text); err != nil {
		return a, b, err
	}
	b, err = j.b(ctx, point, text)
	return a, b, err
}

// The kinds of changes, most dangerous first.
const (
	changeGain    = "gain"
	changeRelax   = "relax"
	changeLoss    = "loss"
	changeTighten = "tighten"
	changeOther   = "other"
)

// changeKinds are the kinds of changes, most dangerous first.
var changeKinds = []string{changeGain, changeRelax, changeLoss, changeTighten, changeOther}

// changeOf names the change from one outcome to another.
func changeOf(point, from, to string) string {
	if point == PointVisibility {
		ranks := map[string]int{outcomePartial: 1, outcomeAllow: 2, outcomeShown: 2}
		if ranks[to] > ranks[from] {
			return changeGain
		}
		return changeLoss
	}
	switch {
	case to == outcomeAllow:
		return changeGain
	case from == outcomeAllow:
		return changeLoss
	case from == outcomeNone:
		return changeTighten
	case to == outcomeNone:
		return changeRelax
	}
	return changeOther
}
