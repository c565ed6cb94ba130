package verify

import (
	"slices"
	"time"

	"github.com/writ-policy/writ/analysis/diff"
	reaching "github.com/writ-policy/writ/analysis/reach"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/assertion"
	"github.com/writ-policy/writ/translator/dates"
)

// verifyReach returns the verdict of an assertion about who can become whom.
func (r *run) verifyReach(a *assertion.Assertion) (*Result, error) {
	out := newResult(a)
	paths, isVacuous, err := r.paths(a, r.Side)
	if err != nil {
		return nil, err
	}
	if isVacuous {
		out.Verdict, out.Text = Vacuous, "from fits no subject that documents name"
		return out.finish(a), nil
	}
	active, expired := r.exceptions(a)
	failing := slices.DeleteFunc(slices.Clone(paths), func(p reaching.Path) bool { return r.leavesOut(a.Unless, &p) || r.leavesOut(active, &p) })
	isExcepted := slices.ContainsFunc(paths, func(p reaching.Path) bool { return !r.leavesOut(a.Unless, &p) && r.leavesOut(active, &p) })
	switch {
	case len(failing) > 0:
		out.setPath(&failing[0], r.Now, r.leavesOut(expired, &failing[0]))
	case isExcepted:
		out.Verdict, out.Text = Excepted, "holds with its exceptions until "+earliest(a, r.Now).Format(time.RFC3339)
	default:
		out.Verdict, out.Text = Holds, "no subject of from reaches "+a.Path.To
	}
	for _, e := range a.Exceptions {
		if !slices.ContainsFunc(paths, func(p reaching.Path) bool { return r.leavesOut(e.Of, &p) }) {
			out.note("stale-exception", "the exception %q is needed by nothing", e.Reason)
		} else if r.Now.Before(e.Until) && e.Until.Sub(r.Now) <= soon {
			out.note("expires", "the exception %q ends at %s", e.Reason, e.Until.UTC().Format(time.RFC3339))
		}
	}
	for i := range a.Unless {
		if !slices.ContainsFunc(paths, func(p reaching.Path) bool { return r.leavesOut(a.Unless[i:i+1], &p) }) {
			out.note("stale-unless", "entry %d of unless is needed by nothing", i)
		}
	}
	return out.finish(a), nil
}

// paths returns the paths that an assertion excludes, by the documents of a side. isVacuous is
// true if no subject is in it.
func (r *run) paths(a *assertion.Assertion, side *diff.Side) (paths []reaching.Path, isVacuous bool, err error) {
	r.SetNow(r.Now)
	o := reaching.Options{World: side.World.Whole().At(dates.Of(r.Now)), Judge: side.Judge, Now: r.Now, To: []string{a.Path.To},
		MaxHops: reaching.MaxHops, MaxChanges: reaching.MaxChanges, MaxIdentities: reaching.MaxIdentities}
	o.Class, _ = reaching.ParseClass(a.Path.Class)
	a.Path.From.Each(func(h *assertion.Holds) {
		if h.Principal != "" && o.World.Named()[h.Principal] {
			o.Known = append(o.Known, h.Principal)
		}
	})
	for _, s := range reaching.Subjects(o) {
		if a.Path.From.Fits(s.Principals(), r.isNamed(side)) {
			o.From = append(o.From, s.Name)
		}
	}
	if len(o.From) == 0 {
		return nil, true, nil
	}
	report, err := reaching.Find(r.ctx, o)
	if err != nil {
		return nil, false, err
	}
	return report.Paths, false, nil
}

func (r *run) isNamed(side *diff.Side) func(string) bool {
	named := side.World.Whole().Named()
	return func(p string) bool { return named[p] }
}

// leavesOut reports whether the subject of a path is in one of some classes.
func (r *run) leavesOut(classes []*assertion.Class, p *reaching.Path) bool {
	return slices.ContainsFunc(classes, func(k *assertion.Class) bool { return k.Holds.Fits(p.From.Principals(), r.isNamed(r.Side)) })
}

// setPath states that the assertion fails by a path.
func (out *Result) setPath(p *reaching.Path, now time.Time, isExpired bool) {
	w := &Witness{At: now.UTC(), In: inClass, Requests: []WitnessRequest{}, Hops: p.Hops}
	if isExpired {
		w.In = inExpired
	}
	add := func(g *reaching.Grant) {
		d := Document{Kind: g.Kind, Namespace: g.Namespace, Name: g.Name, Rule: g.Rule, Source: g.Source}
		if !slices.Contains(out.Documents, d) {
			out.Documents = append(out.Documents, d)
		}
	}
	for i := range p.Hops {
		for _, made := range p.Hops[i].Made() {
			w.Requests = append(w.Requests, WitnessRequest{World: worldAll, Request: made, Outcome: statement.OutcomeAllow})
		}
		for j := range p.Hops[i].Grants {
			add(&p.Hops[i].Grants[j])
		}
	}
	if p.Held != nil {
		add(p.Held)
	}
	out.Verdict, out.Witness, out.Text = Fails, w, p.Sentence()
}

// ageReach marks an assertion as old if each of its paths is one by the base already, in a class
// that is as good. Another path is the witness.
func (r *run) ageReach(a *assertion.Assertion, out *Result) error {
	before, _, err := r.paths(a, r.Base)
	if err != nil {
		return err
	}
	now, _, err := r.paths(a, r.Side)
	if err != nil {
		return err
	}
	active, expired := r.exceptions(a)
	for i := range now {
		p := &now[i]
		if r.leavesOut(a.Unless, p) || r.leavesOut(active, p) {
			continue
		}
		if !slices.ContainsFunc(before, func(o reaching.Path) bool { return o.Subject == p.Subject && o.Class <= p.Class }) {
			out.Documents = []Document{}
			out.setPath(p, r.Now, r.leavesOut(expired, p))
			return nil
		}
	}
	if out.Verdict == Fails {
		out.Old, out.Failed = true, false
	}
	return nil
}
