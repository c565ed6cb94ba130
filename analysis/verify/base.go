package verify

import (
	"cmp"
	"slices"

	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/assertion"
)

// age marks what fails the run as old if it failed already by the base. If a request breaks
// the assertion that did not break it by the base, that request is the witness.
func (r *run) age(a *assertion.Assertion, out *Result) error {
	if a.Path != nil {
		return r.ageReach(a, out)
	}
	base := *r.Input
	base.Side, base.Base = r.Base, nil
	if a.Form == assertion.Independent {
		if base.Reference = r.BaseReference; base.Reference == nil {
			return nil // the files of the base are not known
		}
	}
	before, err := (&run{Input: &base, ctx: r.ctx, indices: r.indices, references: make(map[*assertion.Assertion]*diff.Side)}).verify(a)
	if err != nil {
		return err
	}
	if out.ByBase = before; !before.Failed || !out.Failed {
		return nil
	}
	if out.Verdict != Fails {
		out.Old, out.Failed = true, false
		return nil
	}
	active, expired := r.exceptions(a)
	isProven := true
	provers, err := r.newProvers(a)
	if err != nil {
		return err
	}
	for _, p := range provers {
		r.SetNow(p.now)
		found, err := p.prove(slices.Concat(a.Unless, active))
		if err != nil {
			return err
		}
		if found.witness != nil {
			out.setWitness(a, p, found.witness, expired)
			return nil
		}
		isProven = isProven && found.holds()
	}
	if isProven {
		out.Old, out.Failed = true, false
	}
	return nil
}

// newProvers returns provers that look for requests that do not break the assertion by the
// base.
func (r *run) newProvers(a *assertion.Assertion) ([]*prover, error) {
	var baseOther *diff.Side
	var err error
	if a.Form == assertion.Independent {
		if baseOther, err = r.BaseReference(a); err != nil {
			return nil, err
		}
		if baseOther == nil { // no file fits there
			baseOther = r.Base
		}
	}
	provers := r.provers(a, r.references[a])
	for _, p := range provers {
		p.base = r.world(worldBase, r.Base, p.now)
		if baseOther != nil {
			p.baseOther = r.world(worldBase, baseOther, p.now)
		}
		p.know(p.base.index)
	}
	return provers, nil
}

// worldBase is the revision that an assertion failed by already. No witness shows it.
const worldBase = "base"

// setWitness states that the assertion fails, and why.
func (out *Result) setWitness(a *assertion.Assertion, p *prover, w *Witness, expired []*assertion.Class) {
	w.At = p.now.UTC()
	if w.r != nil && p.fitsAny(expired, w.r, w.held) || w.crossing != nil && p.isInGateway(expired, w.crossing) {
		w.In = inExpired
	}
	out.Verdict, out.Witness, out.Documents, out.Text = Fails, w, w.documents(), w.sentence(a)
}

// newPlans returns plans whose requests do not break the assertion by the base.
func (p *prover) newPlans(plans []plan) []plan {
	allowed := allowedAt(p.a.Point)
	refused := p.others(allowed)
	var out []plan
	for _, one := range plans {
		with := func(more ...outcomeIn) {
			next := one
			next.parts = append(slices.Clone(one.parts), more...)
			out = append(out, next)
		}
		switch {
		case p.a.Form == assertion.Never:
			with(outcomeIn{world: p.base, outcomes: p.others(p.outcomes())})
		case p.a.Form == assertion.Always:
			with(outcomeIn{world: p.base, outcomes: p.outcomes()})
		case p.a.Form == assertion.Implies:
			with(outcomeIn{p.base, refused, p.a.Subjects[0]})
			with(outcomeIn{p.base, allowed, p.a.Subjects[1]})
		case p.a.Form == assertion.Independent:
			for _, o := range outcomesAt[p.a.Point] {
				with(outcomeIn{world: p.base, outcomes: []string{o}}, outcomeIn{world: p.baseOther, outcomes: []string{o}})
			}
		case p.other != nil && p.a.Form == assertion.Equals:
			for _, o := range one.parts[1].outcomes {
				next := plan{parts: []outcomeIn{
					one.parts[0],
					{world: p.other, outcomes: []string{o}},
					{world: p.base, outcomes: []string{o}},
				}}
				out = append(out, next)
			}
		case one.parts[0].outcomes[0] == statement.OutcomeAllow || p.a.Form == assertion.Within:
			with(outcomeIn{world: p.base, outcomes: refused})
		default:
			with(outcomeIn{world: p.base, outcomes: allowed})
		}
	}
	return out
}

// isNew reports whether a request does not break the assertion by the base.
func (p *prover) isNew(r *statement.Request, held []string) (bool, error) {
	if p.base == nil || p.a.Form == assertion.Disjoint || p.a.Form == assertion.Covers {
		return true, nil // pairs and places are compared as a whole
	}
	_, got, err := p.decide(r, held, p.asksOf(p.base, cmp.Or(p.baseOther, p.other)))
	return err == nil && !p.breaks(r, got), err
}
