package verify

import (
	"cmp"
	"maps"
	"slices"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/assertion"
	"github.com/writ-policy/writ/translator/tables"
)

// mostPinned bounds the values that two requests have in common.
const mostPinned = 4096

// proveDisjoint looks for one subject that is allowed a request of each class.
func (p *prover) proveDisjoint() (*proof, error) {
	var exact, maybe []pair
	for _, c := range p.a.Of {
		one := p.searchIn(c, p.out, p.a.Classes[0])
		for _, d := range p.a.Of {
			other := p.searchIn(d, p.out, p.a.Classes[1])
			one.peer, other.peer = other, one
			p.eachPair(c, d, func(first, second *goal) {
				one.peerKind, other.peerKind = second.kind, first.kind
				p.pairs(first, second, one, other, func(f pair) bool {
					if len(f.opaque) == 0 {
						exact = append(exact, f)
					} else if len(maybe) < mostTried {
						maybe = append(maybe, f)
					}
					return len(exact) < mostFound && !p.stop()
				})
			})
		}
	}
	if p.err != nil {
		return nil, p.err
	}
	slices.SortStableFunc(exact, func(x, y pair) int { return len(x.held) - len(y.held) })
	var why []string
	for i, f := range append(exact[:min(len(exact), 1)], maybe...) {
		w, err := p.judgePair(f)
		if w != nil || err != nil {
			return &proof{witness: w}, err
		}
		if i == 0 && len(exact) > 0 {
			return nil, disagreement(p.a, []WitnessRequest{{Request: p.object(f.r[0], f.held)}})
		}
		why = append(why, reasons(f.opaque)...)
	}
	if p.isCut || p.askers.isCut {
		why = append(why, statement.WhyPattern)
	}
	return &proof{why: tables.Entries(why)}, nil
}

// eachPair calls a function with the goals of requests of two classes of the assertion. With
// a base, one of the two requests is not allowed by it.
func (p *prover) eachPair(c, d *assertion.Class, visit func(first, second *goal)) {
	each := func(one, other []goal) {
		for _, first := range one {
			for _, second := range other {
				if first.kind.agrees(second.kind, p.a.Same) {
					visit(&first, &second)
				}
			}
		}
	}
	first, isNew := p.goalsOfPair(c, 0)
	second, isNewToo := p.goalsOfPair(d, 1)
	if p.base == nil {
		each(first, second)
		return
	}
	each(isNew, second)
	each(first, isNewToo)
}

// goalsOfPair returns the goals of one request of a pair, and those whose requests are, besides, not
// allowed by the base.
func (p *prover) goalsOfPair(c *assertion.Class, i int) (all, isNew []goal) {
	allowed := allowedAt(p.a.Point)
	for _, k := range p.kinds(c, p.a.Classes[i]) {
		for _, outcome := range allowed {
			for _, way := range p.ways(p.all, outcome, k, nil) {
				all = append(all, goal{kind: k, parts: way})
				if p.base == nil {
					continue
				}
				for _, before := range p.others(allowed) {
					for _, base := range p.ways(p.base, before, k, nil) {
						isNew = append(isNew, goal{kind: k, parts: slices.Concat(way, base)})
					}
				}
			}
		}
	}
	return all, isNew
}

// pair is two requests of one subject.
type pair struct {
	held   []string
	r      [2]*statement.Request
	opaque []*statement.Statement
}

// pairs calls yield with pairs that are allowed, or may be.
func (p *prover) pairs(first, second *goal, one, other *search, yield func(pair) bool) {
	require, not, soft := one.conditions()
	more, _, _ := other.conditions()
	require = append(require, more...)
	goOn := true
	one.each(first, func(d []*statement.Statement) bool {
		other.each(second, func(e []*statement.Statement) bool {
			for _, x := range one.bases(first, d) {
				for _, y := range other.bases(second, e) {
					if !goOn || p.stop() {
						return false
					}
					p.askers.each(slices.Concat(x, y), require, not, soft, func(held []string) bool {
						q := [2]*query{one.query(first, d, held), other.query(second, e, held)}
						k := [2]*kind{first.kind, second.kind}
						if f := p.pair(q, k, held, true); f != nil {
							goOn = yield(*f)
						} else if f := p.pair(q, k, held, false); f != nil {
							goOn = yield(*f)
						}
						return goOn
					})
				}
			}
			return goOn
		})
		return goOn
	})
}

// pair looks for a pair of requests. If isExact is set, no opaque statement decides them.
func (p *prover) pair(q [2]*query, k [2]*kind, held []string, isExact bool) *pair {
	find := func(i int, pinned map[string]string) *statement.Request {
		if isExact && len(q[i].opaque) > 0 {
			return nil
		}
		not := q[i].not
		if isExact {
			not = slices.Concat(not, q[i].maybe)
		}
		return p.find(q[i].must, not, held, pinned, k[i])
	}
	for _, pinned := range p.pins(q) {
		r := find(0, pinned)
		if r == nil {
			continue
		}
		if s := find(1, pinned); s != nil {
			f := &pair{held: held, r: [2]*statement.Request{r, s}}
			if !isExact {
				f.opaque = append(q[0].decidedBy(r), q[1].decidedBy(s)...)
			}
			return f
		}
	}
	return nil
}

// pins returns the values of the keys that both requests have in common.
func (p *prover) pins(q [2]*query) []map[string]string {
	out := []map[string]string{{}}
	texts := new(statement.Request).Texts() // what is not among them, kinds agree about
	same := slices.DeleteFunc(slices.Clone(p.a.Same), func(key string) bool { return texts[key] == nil })
	if len(same) == 0 {
		return out
	}
	s := statement.Search{
		Must:    slices.Concat(q[0].must, q[1].must),
		MustNot: slices.Concat(q[0].not, q[0].maybe, q[1].not, q[1].maybe),
		Point:   p.a.Point,
	}
	s.Mention()
	for _, key := range same {
		var grown []map[string]string
		for _, value := range s.ValuesOf(key) {
			for _, pinned := range out {
				with := maps.Clone(pinned)
				with[key] = value
				grown = append(grown, with)
			}
		}
		out = grown
		if len(out) > mostPinned {
			p.isCut = true
			return out[:mostPinned]
		}
	}
	p.isCut = p.isCut || s.Values.IsCut()
	return out
}

// judgePair lets the engine decide a pair, nil if it does not break the assertion.
func (p *prover) judgePair(f pair) (*Witness, error) {
	w := &Witness{In: inClass, held: f.held}
	for i := range f.r {
		d := p.draftOf(found{r: f.r[i], held: f.held})
		d.class = p.a.Classes[i]
		first := d.r
		d.check = func(d *draft, got []string) bool {
			for _, key := range p.a.Same {
				if text := d.r.Texts()[key]; text != nil && *text != *first.Texts()[key] {
					return false
				}
			}
			with := f
			with.r[i] = d.r
			if !slices.Contains(allowedAt(p.a.Point), got[0]) || p.isOldPair(with) {
				return false
			}
			return p.isIn(d.r, d.held) && p.fitsAny(p.a.Classes[i:i+1], d.r, d.held)
		}
		if !d.accept() {
			return nil, d.err
		}
		d.polish()
		f.r[i] = d.r
		w.Requests = append(w.Requests, d.requests...)
		w.r = cmp.Or(w.r, d.r)
	}
	return w, nil
}

// isOldPair reports whether both requests of a pair are allowed by the base.
func (p *prover) isOldPair(f pair) bool {
	if p.base == nil {
		return false
	}
	for _, r := range f.r {
		_, got, err := p.decide(r, f.held, []ask{{world: p.base}})
		if err != nil || !slices.Contains(allowedAt(p.a.Point), got[0]) {
			return false
		}
	}
	return true
}

// proveCovers looks for a namespace in which no principal alone is allowed everything.
func (p *prover) proveCovers() (*proof, error) {
	var why []string
	for _, place := range p.places() {
		if isOld, err := p.isOldPlace(place); isOld || err != nil {
			if err != nil {
				return nil, err
			}
			continue
		}
		w, reasons, err := p.uncovered(place)
		if w != nil || err != nil {
			return &proof{witness: w}, err
		}
		why = append(why, reasons...)
	}
	return &proof{why: tables.Entries(why)}, nil
}

// isOldPlace reports whether the base has a namespace and does not cover it.
func (p *prover) isOldPlace(place string) (bool, error) {
	if p.base == nil {
		return false, nil
	}
	before := newProver(p.ctx, p.a, p.now, p.base, nil)
	before.out = p.out
	if !slices.Contains(before.places(), place) {
		return false, nil
	}
	w, _, err := before.uncovered(place)
	return w != nil, err
}

// places returns the namespaces that documents name and the class has.
func (p *prover) places() []string {
	return slices.DeleteFunc(p.all.index.places(), func(place string) bool {
		return !slices.ContainsFunc(p.a.Of, func(c *assertion.Class) bool {
			return c.Text("path") == nil && c.Text("namespace").Fits(place)
		})
	})
}

// uncovered returns a request of the principal that comes nearest, nil if one principal is
// allowed everything, or may be for some reasons.
func (p *prover) uncovered(place string) (nearest *Witness, why []string, err error) {
	there := statement.InClass(&assertion.Class{Texts: map[string]*assertion.Value{"namespace": {Texts: []string{place}}}})
	var candidates []string
	for _, q := range p.askers.ordered {
		if slices.ContainsFunc(p.a.Of, func(c *assertion.Class) bool { return c.Holds.Fits([]string{q}, p.askers.isNamed) }) {
			candidates = append(candidates, q)
		}
	}
	near := func(q string) int { return len(p.all.index.world.Of(q, place)) }
	slices.SortStableFunc(candidates, func(x, y string) int { return near(y) - near(x) })
	for i, q := range append(candidates, statement.UserPrefix+unnamed) {
		if i == len(candidates) && nearest != nil {
			break
		}
		var exact, maybe []found
		for _, c := range p.a.Of {
			if i < len(candidates) && !c.Holds.Fits([]string{q}, p.askers.isNamed) {
				continue
			}
			s := p.searchIn(c, p.out)
			for _, o := range p.others([]string{statement.OutcomeAllow}) {
				s.solve(&goal{parts: []part{{p.all, o, []string{q}}}, must: []*statement.Statement{there}}, func(f found) bool {
					if len(f.opaque) == 0 {
						exact = append(exact, f)
					} else {
						maybe = append(maybe, f)
					}
					return len(exact) == 0 && len(maybe) < mostTried
				})
			}
		}
		switch {
		case p.err != nil:
			return nil, nil, p.err
		case len(exact) == 0 && len(maybe) == 0 && !p.isCut && i < len(candidates):
			return nil, nil, nil // covered
		}
		for _, f := range slices.Concat(exact, maybe) {
			w, err := p.judgeThere(f, place)
			if err != nil {
				return nil, nil, err
			}
			if w != nil {
				nearest = cmp.Or(nearest, w)
				break
			}
			why = append(why, reasons(f.opaque)...)
		}
		if p.isCut {
			why = append(why, statement.WhyPattern)
		}
	}
	if len(why) > 0 {
		return nil, why, nil
	}
	return nearest, nil, nil
}

// judgeThere returns the plainest request like a found one that is in a class, in a namespace,
// and is not allowed: nil if the engine allows it, which is an error unless something about it
// is opaque.
func (p *prover) judgeThere(f found, place string) (*Witness, error) {
	d := p.draftOf(f)
	d.check = func(d *draft, got []string) bool {
		if got[0] == statement.OutcomeAllow || d.r.Namespace != place {
			return false
		}
		return p.isInOf(d.r) && !p.fitsAny(p.out, d.r, d.held)
	}
	if d.accept() {
		d.polish()
		w := d.witness()
		w.Place = map[string]string{"namespace": place}
		return w, nil
	}
	if d.err == nil && len(f.opaque) == 0 {
		return nil, disagreement(p.a, d.requests)
	}
	return nil, d.err
}

// isInOf reports whether a request is in a class of the assertion's "of".
func (p *prover) isInOf(r *statement.Request) bool {
	return slices.ContainsFunc(p.a.Of, func(c *assertion.Class) bool { return statement.InClass(c).Fits(r) })
}
