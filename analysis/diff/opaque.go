package diff

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/tables"
)

// opaqueClass returns the inexact class of requests that fit s and one of some opaque
// statements; without the latter s is opaque itself.
func (d *side) opaqueClass(s *statement.Statement, opaque, exceptions []*statement.Statement, g *group) []*class {
	exceptions = exactOf(exceptions)
	if reduced := reduceBy(s, exceptions); reduced == nil {
		return nil
	} else if s.Opaque == "" {
		s = reduced
	}
	exceptions = d.needed(s, exceptions, g.principals[0])
	c := &class{point: d.point, all: [][]*member{{d.own(s)}}, except: d.members(g.withEquals(exceptions)), changes: d.possible(s)}
	readers := opaque
	if s.Opaque != "" {
		readers = []*statement.Statement{s}
	} else {
		c.all = append(c.all, d.members(g.withEquals(opaque)))
	}
	fits := false
	for _, t := range readers {
		c.why = append(c.why, t.Opaque)
		contexts := []required{{}}
		if t.Opaque == statement.WhyPod {
			contexts = exemptions([]*statement.Statement{t}, nil)
		}
		for _, by := range d.beside(t, d.askers(s, exceptions, g), s) {
			for _, at := range contexts {
				must := slices.Concat([]*statement.Statement{s, t}, by.must, at.must)
				r := d.find(must, slices.Concat(exceptions, at.mustNot, by.mustNot), distinct(by.principal, by.holder)...)
				if r == nil {
					continue
				}
				fits = true
				for _, object := range slices.Concat(statement.Variants(d.y.world, r, t, statement.MaxOpaqueTries), statement.Variants(d.x.world, r, t, statement.MaxOpaqueTries)) {
					d.record(c, object)
				}
			}
		}
	}
	slices.Sort(c.why)
	c.why = slices.Compact(c.why)
	if !fits || len(c.transitions) == 0 && slices.Equal(c.why, []string{statement.WhyPod}) {
		return nil
	}
	return []*class{c}
}

// asker is a principal to try, with statements that its requests must and must not fit.
type asker struct {
	principal     string
	holder        string // a second principal, for an opaque statement that the first does not hold
	must, mustNot []*statement.Statement
}

// beside gives askers that do not hold an opaque statement t a second principal that does:
// the first user and the first group that it names.
func (d *side) beside(t *statement.Statement, askers []asker, s *statement.Statement) []asker {
	var out []asker
	for _, by := range askers {
		if t.Subjects == nil || by.principal != "" && t.Holds([]string{by.principal}) {
			out = append(out, by)
			continue
		}
		for _, prefix := range []string{statement.GroupPrefix, statement.UserPrefix} {
			i := slices.IndexFunc(t.Subjects, func(q string) bool { return strings.HasPrefix(q, prefix) })
			if i < 0 || d.filter.subject != "" {
				continue
			}
			with := by
			with.holder = t.Subjects[i]
			with.mustNot = slices.Concat(by.mustNot, d.against(s, t, with.holder))
			out = append(out, with)
		}
	}
	return out
}

// askers returns principals to try: one of the group or, for a statement that concerns
// everybody, an unnamed one and one that is allowed in y. If the comparison is of one
// principal, that one takes both parts.
func (d *side) askers(s *statement.Statement, exceptions []*statement.Statement, g *group) []asker {
	p := g.principals[0]
	out := []asker{{principal: p}}
	if s.Subjects != nil {
		return out
	}
	if p != "" {
		out[0].mustNot = d.y.of(p, s.Namespace)
	}
	for t := range d.y.all(s.Namespace, statement.OutcomeAllow) {
		if t.Effect != statement.OutcomeAllow || t.Opaque != "" || len(t.Subjects) == 0 || p != "" && !t.Holds([]string{p}) || !d.overlaps(s, t) {
			continue
		}
		q := cmp.Or(p, t.Subjects[0])
		if d.find([]*statement.Statement{s, t}, exceptions, q) != nil {
			return append(out, asker{principal: q, must: []*statement.Statement{t}})
		}
	}
	return out
}

// possible returns what a request that s decides in x may go through.
func (d *side) possible(s *statement.Statement) []string {
	if d.point == statement.PointVisibility {
		return []string{changeGain, changeLoss}
	}
	var out []string
	for _, outcome := range []string{statement.OutcomeNone, statement.OutcomeAllow, statement.OutcomeDeny} {
		if outcome != s.Effect && (s.Effect == statement.OutcomeDeny || outcome != statement.OutcomeDeny || s.Step < 5) {
			t := d.transition(s.Effect, outcome, new(statement.Request))
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

// record returns the transition of a request that was found, which it adds unless the class
// has it.
func (c *class) record(object map[string]any, a, b statement.Verdict) *transition {
	for _, t := range c.transitions {
		if t.from == a.Outcome && t.to == b.Outcome {
			return t
		}
	}
	t := &transition{from: a.Outcome, to: b.Outcome, request: object, a: a, b: b, affected: map[string]bool{}}
	c.transitions = append(c.transitions, t)
	return t
}

// maxAlone is how many principals are tried for one transition.
const maxAlone = 1000

// tryAlone records which principals go through a transition of an inexact class with its
// witness alone: that of the witness, and the subjects of the statements of the class.
func (c *comparison) tryAlone(k *class, t *transition) {
	candidates := c.named(holders(t.request))
	for _, m := range slices.Concat(k.all...) {
		candidates = append(candidates, m.s.Subjects...)
	}
	candidates = tables.Entries(candidates)
	c.untried += max(0, len(candidates)-maxAlone)
	for _, p := range candidates[:min(len(candidates), maxAlone)] {
		base, _ := requestOf(c.unnamedUser, k.point, []string{p})
		object := maps.Clone(t.request)
		delete(object, "groups")
		delete(object, "serviceAccount")
		maps.Copy(object, base.Object(k.point))
		if a, b, err := c.judges.both(c.ctx, k.point, object); err == nil && a.Outcome == t.from && b.Outcome == t.to {
			t.affected[p] = true
		}
	}
}

// named returns the principals that a binding or a session of a revision names.
func (c *comparison) named(principals []string) []string {
	return slices.DeleteFunc(principals, func(p string) bool { return len(c.a.World.Held(p, ""))+len(c.b.World.Held(p, "")) == 0 })
}

// judges decide requests by both revisions.
type judges struct{ a, b statement.Judge }

func (j judges) both(ctx context.Context, point string, object map[string]any) (a, b statement.Verdict, err error) {
	text := statement.Encode(object)
	if a, err = j.a(ctx, point, text); err != nil {
		return a, b, err
	}
	b, err = j.b(ctx, point, text)
	return a, b, err
}
