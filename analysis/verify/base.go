package verify

import (
	"slices"
	"time"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/assertion"
)

// age marks what fails the run as old if it failed already by the base. If a request breaks
// the assertion that did not break it by the base, that request is the witness.
func (r *run) age(a *assertion.Assertion, out *Result) error {
	if a.Form == assertion.Independent {
		return nil // the files of the base are not known
	}
	base := *r.Input
	base.Side, base.Base = r.Base, nil
	before, err := (&run{Input: &base, ctx: r.ctx, indices: r.indices}).verify(a)
	if err != nil || !before.Failed {
		return err
	}
	if out.Verdict != Fails {
		out.Old, out.Failed = true, false
		return nil
	}
	if a.Documents.Value != "" || !slices.Contains([]string{assertion.Never, assertion.Always, assertion.Within, assertion.Equals}, a.Form) {
		return nil // a request that is new is not searched for
	}
	active, expired := r.exceptions(a)
	isProven := true
	for _, at := range r.times(a) {
		r.SetNow(at)
		w := r.world(worldBase, r.Base, at)
		p := newProver(r.ctx, a, at, r.world(worldAll, r.Side, at), w)
		p.other, p.base = nil, w
		found, err := p.prove(slices.Concat(a.Unless, active))
		if err != nil {
			return err
		}
		if found.witness != nil {
			out.setWitness(a, p, found.witness, at, expired)
			return nil
		}
		isProven = isProven && found.holds()
	}
	if isProven {
		out.Old, out.Failed = true, false
	}
	return nil
}

// worldBase is the revision that an assertion failed by already. No witness shows it.
const worldBase = "base"

// setWitness states that the assertion fails, and why.
func (out *Result) setWitness(a *assertion.Assertion, p *prover, w *Witness, at time.Time, expired []*assertion.Class) {
	w.At = at.UTC()
	if w.r != nil && p.fitsAny(expired, w.r, w.held) {
		w.In = inExpired
	}
	out.Verdict, out.Witness, out.Documents, out.Text = Fails, w, w.documents(), w.sentence(a)
}

// newGoals returns goals that a request reaches only if it does not break the assertion by
// the base.
func (p *prover) newGoals(goals []goal) []goal {
	var out []goal
	for _, g := range goals {
		broken := []string{statement.OutcomeAllow}
		switch {
		case p.a.Form == assertion.Never:
			broken = outcomes(p.a.Word)
		case p.a.Form == assertion.Always:
			broken = otherOutcomes(outcomes(p.a.Word))
		case g.parts[0].outcome != statement.OutcomeAllow:
			broken = otherOutcomes(broken)
		}
		for _, o := range otherOutcomes(broken) {
			out = append(out, goal{append(slices.Clone(g.parts), part{world: p.base, outcome: o}), g.must, g.not})
		}
	}
	return out
}

// isNew reports whether a request does not break the assertion by the base.
func (p *prover) isNew(r *statement.Request, held []string) (bool, error) {
	if p.base == nil {
		return true, nil
	}
	_, got, err := p.decide(r, held, []ask{{world: p.base}})
	return err == nil && !p.breaks(r, got), err
}
