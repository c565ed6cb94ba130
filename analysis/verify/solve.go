package verify

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/assertion"
	"github.com/writ-policy/writ/translator/tables"
)

// part is what a goal requires of one world.
type part struct {
	world   *world
	outcome string
	// as are the principals that ask in this world; nil: those of the request.
	as []string
}

// goal is what one request of a class would show.
type goal struct {
	kind  *kind
	parts []part
	// must and not are fitted and avoided beside the class.
	must, not []*statement.Statement
}

// found is a request that may reach a goal.
type found struct {
	held []string
	r    *statement.Request
	// opaque are the statements that decide whether it does; none: it does.
	opaque []*statement.Statement
}

// search looks for requests of one class of an assertion.
type search struct {
	p     *prover
	class *assertion.Class
	of    *statement.Statement
	// also are further classes that requests are in.
	also []*assertion.Class
	// peer looks for a second request of the same subject, nil without one.
	peer     *search
	peerKind *kind
	// out are the classes that are left out.
	out []*excluded
	// alike are the subjects that representatives stand for, and deciders the proofs about each
	// decider, if proofs are asked for.
	alike    map[string][]string
	deciders []decider
}

// excluded is a class that is left out of another one.
type excluded struct {
	class *assertion.Class
	of    *statement.Statement
	bare  bool // it is about principals alone
}

// searchIn returns a search in a class, less others, and in all of some further classes.
func (p *prover) searchIn(c *assertion.Class, out []*assertion.Class, also ...*assertion.Class) *search {
	s := &search{p: p, class: c, also: also, of: statement.InClass(c)}
	for _, u := range out {
		bare := len(u.Texts)+len(u.Labels) == 0 && u.Item == nil
		s.out = append(s.out, &excluded{u, statement.InClass(u), bare})
	}
	return s
}

// reachIn returns the statements that reach the class in a world, and denyingIn those that may
// deny.
func (s *search) reachIn(w *world) *reach   { return s.reached(w, false) }
func (s *search) denyingIn(w *world) *reach { return s.reached(w, true) }

func (s *search) reached(w *world, onlyDeny bool) *reach {
	r := w.index.reachOf(s.of, s.class, onlyDeny)
	s.p.isCut = s.p.isCut || r.isCut
	return r
}

// conditions returns those on principals: what the class requires, what must be escaped,
// and what may be.
func (s *search) conditions() (require, not, soft []*assertion.Holds) {
	for _, c := range append([]*assertion.Class{s.class}, s.also...) {
		if c.Holds != nil {
			require = append(require, c.Holds)
		}
	}
	for _, u := range s.out {
		switch {
		case u.class.Holds == nil:
		case u.bare:
			not = append(not, u.class.Holds)
		default:
			soft = append(soft, u.class.Holds)
		}
	}
	return require, not, soft
}

// solve calls yield with requests that reach a goal, or may, until yield returns false.
func (s *search) solve(g *goal, yield func(found) bool) {
	s.each(g, func(chosen []*statement.Statement) bool { return s.decided(g, chosen, yield) })
}

// each calls visit with statements that may decide, one for each part of a goal, until it
// returns false.
func (s *search) each(g *goal, visit func(chosen []*statement.Statement) bool) {
	more := true
	var choose func(i int, chosen []*statement.Statement)
	choose = func(i int, chosen []*statement.Statement) {
		if i == len(g.parts) {
			more = visit(chosen)
			return
		}
		for _, d := range s.decidersOf(&g.parts[i]) {
			if !more || s.p.stop() {
				return
			}
			if p := &g.parts[i]; d != nil && p.as != nil && !d.Holds(p.as) {
				continue
			}
			choose(i+1, append(slices.Clone(chosen), d))
		}
	}
	choose(0, nil)
}

// decidersOf returns the statements that may decide with the outcome of a part; nil stands
// for none.
func (s *search) decidersOf(p *part) []*statement.Statement {
	switch {
	case p.world.index.point == statement.PointVisibility && p.outcome == statement.OutcomeDeny: // without a policy as well
		return append(slices.Clone(s.reachIn(p.world).by[p.outcome]), nil)
	case p.outcome == statement.OutcomeDeny:
		r := s.denyingIn(p.world)
		return slices.Concat(r.everyone, r.by[p.outcome], r.by[statement.OutcomeAllow]) // an evaluation error denies
	case p.outcome == statement.OutcomeNone:
		return []*statement.Statement{nil}
	}
	return s.reachIn(p.world).by[p.outcome]
}

func isEvaluated(t *statement.Statement) bool {
	return t.Opaque != "" && t.Opaque != statement.WhyPod
}

// decided looks for requests that some statements decide, for each subject of them that
// other statements treat in another way.
func (s *search) decided(g *goal, chosen []*statement.Statement, yield func(found) bool) bool {
	require, not, soft := s.conditions()
	more := true
	for _, base := range s.bases(g, chosen) {
		if !more {
			break
		}
		if as := g.parts[0].as; as != nil { // the form names who asks
			more = s.try(g, chosen, as, yield)
			continue
		}
		proof := s.p.askers.each(base, require, not, soft, func(held []string) bool {
			more = s.try(g, chosen, held, yield)
			return more
		})
		s.record(g, chosen, base, proof)
	}
	return more
}

// bases returns a subject of each of some statements, for each that other statements treat
// in another way.
func (s *search) bases(g *goal, chosen []*statement.Statement) [][]string {
	out := [][]string{nil}
	for i, d := range chosen {
		if d == nil || d.Subjects == nil || g.parts[i].as != nil {
			continue
		}
		var grown [][]string
		for _, p := range s.representatives(g, d) {
			for _, base := range out {
				grown = append(grown, append(slices.Clone(base), p))
			}
		}
		out = grown
	}
	return out
}

// representatives returns one subject of a statement for each set of those that nothing
// tells apart.
func (s *search) representatives(g *goal, d *statement.Statement) []string {
	if len(d.Subjects) < 2 {
		return d.Subjects
	}
	seen := make(map[string]string)
	s.alike = make(map[string][]string)
	return slices.DeleteFunc(slices.Clone(d.Subjects), func(p string) bool {
		var key strings.Builder
		key.WriteString(p[:strings.IndexByte(p, ':')])
		for _, h := range s.p.conditions {
			h.Each(func(o *assertion.Holds) { fmt.Fprintf(&key, "%t", o.Fits([]string{p}, s.p.askers.isNamed)) })
		}
		for _, list := range s.p.a.Apart {
			fmt.Fprintf(&key, "%t", slices.Contains(list, p))
		}
		for _, part := range g.parts {
			for _, t := range s.reachIn(part.world).bySubject[p] {
				fmt.Fprintf(&key, " %p", t)
			}
		}
		if s.peer != nil {
			for _, w := range s.p.viewsOf(s.p.all, s.peerKind) {
				for _, t := range s.peer.reachIn(w).bySubject[p] {
					fmt.Fprintf(&key, " %p", t)
				}
			}
		}
		first, isKnown := seen[key.String()]
		if isKnown {
			s.alike[first] = append(s.alike[first], p)
		} else {
			seen[key.String()] = p
		}
		return isKnown
	})
}

// query is what a request of some principals fits and avoids. The statements of opaque are
// fitted as far as lists decide, those of maybe may be avoided by what no list expresses.
type query struct {
	must, not, maybe, opaque []*statement.Statement
}

// query returns the query for a goal that some statements decide.
func (s *search) query(g *goal, chosen []*statement.Statement, held []string) *query {
	q := &query{must: append([]*statement.Statement{s.of}, g.must...), not: slices.Clone(g.not)}
	q.must = append(q.must, elements.Map(s.also, statement.InClass)...)
	for i, p := range g.parts {
		d := chosen[i]
		if d != nil {
			q.must = append(q.must, d)
			if d.Opaque != "" {
				q.opaque = append(q.opaque, d)
			}
		}
		as := held
		if p.as != nil {
			as = p.as
		}
		for _, t := range s.reachIn(p.world).heldBy(as) {
			switch {
			case t == d || !goesBefore(t, d, p.outcome):
			case t.Opaque != "":
				q.maybe = append(q.maybe, t)
			default:
				q.not = append(q.not, t)
			}
		}
	}
	for _, u := range s.out {
		if u.class.Item == nil && g.kind.fits(u.class) && u.class.Holds.Fits(held, s.p.askers.isNamed) {
			q.not = append(q.not, u.of)
		}
	}
	return q
}

// try looks for a request of some principals that some statements decide.
func (s *search) try(g *goal, chosen []*statement.Statement, held []string, yield func(found) bool) bool {
	if s.contradicts(g, chosen, held) {
		return true
	}
	q := s.query(g, chosen, held)
	if len(q.opaque) == 0 {
		if r := s.p.find(q.must, slices.Concat(q.not, q.maybe), held, nil, g.kind); r != nil && !yield(found{held, r, nil}) {
			return false
		}
	}
	if len(q.opaque)+len(q.maybe) == 0 {
		return true
	}
	r := s.p.find(q.must, q.not, held, nil, g.kind)
	return r == nil || yield(found{held, r, q.decidedBy(r)})
}

// contradicts reports whether an opaque statement decides in one world and, with the same
// content, would have to be avoided in the other one.
func (s *search) contradicts(g *goal, chosen []*statement.Statement, held []string) bool {
	for i, d := range chosen {
		if d == nil || d.Opaque == "" {
			continue
		}
		for j, p := range g.parts {
			if j == i || p.as != nil {
				continue
			}
			if slices.ContainsFunc(s.reachIn(p.world).heldBy(held), func(t *statement.Statement) bool {
				return t.Opaque != "" && t != chosen[j] && goesBefore(t, chosen[j], p.outcome) && statement.ContentOf(t) == statement.ContentOf(d)
			}) {
				return true
			}
		}
	}
	return false
}

// decidedBy returns the opaque statements that decide whether a request reaches the goal.
func (q *query) decidedBy(r *statement.Request) []*statement.Statement {
	out := slices.Clone(q.opaque)
	return append(out, elements.Filter(q.maybe, func(t *statement.Statement) bool { return t.Fits(r) })...)
}

// goesBefore reports whether a statement must be avoided for another one to decide with an
// outcome; nil stands for none.
func goesBefore(t, d *statement.Statement, outcome string) bool {
	if d == nil {
		return true
	}
	order := bytes.Compare(t.Rank, d.Rank)
	if d.Effect != outcome { // an evaluation error decides: what allows without it goes before
		return t.Effect != outcome && order <= 0
	}
	return t.Effect != d.Effect && order < 0
}

// find looks for a request of some principals, with some keys pinned to values.
func (p *prover) find(must, not []*statement.Statement, held []string, pinned map[string]string, k *kind) *statement.Request {
	base, ok := p.requestOf(held)
	if !ok {
		return nil
	}
	if k != nil {
		must = append(slices.Clip(must), inCluster)
		base.Facts = map[string]any{"type": k.typ, "action": k.action}
	}
	base.Cluster = p.all.index.world.Access.Cluster
	s := statement.Search{Must: must, MustNot: not, Point: p.a.Point, Base: base, IsProven: p.isRecording}
	if len(pinned) > 0 {
		s.Pin = func(r *statement.Request) bool {
			texts := r.Texts()
			for key, value := range pinned {
				*texts[key] = value
			}
			return (r.Path != "") != (r.Resource != "")
		}
	}
	r := s.Find()
	p.isCut = p.isCut || s.Cut && r == nil
	p.last = s.Proof
	return r
}

// reasons returns why statements decide by more than their lists, each once.
func reasons(list []*statement.Statement) []string {
	out := elements.Map(list, func(t *statement.Statement) string { return t.Opaque })
	return tables.Entries(out)
}
