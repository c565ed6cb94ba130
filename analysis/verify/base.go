package verify

import (
	"slices"

	"github.com/writ-policy/writ/analysis/diff"
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
	before, err := (&run{Input: &base, ctx: r.ctx, indices: r.indices, references: make(map[*assertion.Assertion]*diff.Side)}).verify(a)
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
	for _, at := range r.times(a, nil) {
		r.SetNow(at)
		w := r.world(worldBase, r.Base, at)
		p := newProver(r.ctx, a, at, r.world(worldAll, r.Side, at), w)
		p.other, p.base = nil, w
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
	var out []plan
	for _, one := range plans {
		broken := allowedAt(p.a.Point)
		switch {
		case p.a.Form == assertion.Never:
			broken = p.outcomes()
		case p.a.Form == assertion.Always:
			broken = p.others(p.outcomes())
		case !slices.Contains(one.demands[0].outcomes, statement.OutcomeAllow):
			broken = p.others(broken)
		}
		one.demands = append(slices.Clone(one.demands), demand{world: p.base, outcomes: p.others(broken)})
		out = append(out, one)
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
