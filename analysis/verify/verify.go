// Package verify proves assertions, or finds a request that breaks one. Assertions and the
// statements of a revision come in; a report goes out. The package must not know how
// documents are read or how an engine evaluates a bundle: a judge decides the requests that
// it constructs.
//
// # Terms
//
//   - A goal is what one request would show that breaks an assertion: an outcome in each of
//     one or two worlds.
//   - A decider is the statement that decides a request in a world.
//   - A witness is a request that breaks an assertion, and its decision.
//
// # Design
//
// An assertion is broken if a request has some outcome, and an outcome has a deciding
// statement: so each statement that reaches the class is tried as the decider, with the
// statements before it avoided. The search for a request is that of package statement; a
// class is one more condition to fit, and what is left out of it one more to avoid.
//
// Who asks is chosen first. A request that breaks an assertion still breaks it if it holds
// fewer principals, as long as it holds a subject of each decider and fits what the class
// requires: other principals only add statements that must be avoided. So only smallest sets
// of principals are tried, and of the principals that documents do not name one for each
// kind that the class tells apart.
//
// A statement that reads what no list expresses is first avoided and then ignored. If no
// request is found when it is ignored, the assertion holds. If one is found only then, the
// engine decides variants of it, and if none breaks the assertion, the verdict is unknown.
package verify

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/assertion"
	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/tables"
)

// Input is what is proven of which documents.
type Input struct {
	*diff.Side
	// Base, if not nil, is the revision whose failures are old.
	Base       *diff.Side
	Assertions []assertion.Assertion
	Now        time.Time
	// SetNow sets the time at which judges decide.
	SetNow func(time.Time)
	// Reference returns the documents that an assertion compares with: those that it refers
	// to, or those of the side without the ones that it names. It returns nil for no documents.
	Reference func(*assertion.Assertion) (*diff.Side, error)
	// Before, if not nil, is an earlier report: what cannot have another verdict is not proven
	// again.
	Before *Report
	// Pause, if not nil, is called before each proof.
	Pause func()
	// BaseReference returns the documents of the base without the ones that an assertion names.
	// It is nil without a base, and if its files are not known.
	BaseReference func(*assertion.Assertion) (*diff.Side, error)
	// HasCertificates asks for Result.Certificate.
	HasCertificates bool
	// AllByBase verifies every assertion by the base, and not only what fails: Result.ByBase.
	AllByBase bool
}

// run is the state of one Run.
type run struct {
	*Input
	ctx     context.Context
	indices map[*statement.World]*index
	// references are the documents that assertions compare with.
	references map[*assertion.Assertion]*diff.Side
}

// Run proves assertions. It returns an error if a proof is not possible.
func Run(ctx context.Context, in *Input) (*Report, error) {
	r := &run{Input: in, ctx: ctx, indices: make(map[*statement.World]*index), references: make(map[*assertion.Assertion]*diff.Side)}
	report := &Report{Source: in.Source, Revision: in.Revision, Now: in.Now.UTC(), Assertions: []Result{}, Notes: []Note{}, Diagnostics: []any{}}
	if in.Base != nil {
		report.Base = &in.Base.Source
	}
	defer in.SetNow(in.Now)
	earlier := r.again()
	for i := range in.Assertions {
		if kept := r.kept(earlier, &in.Assertions[i]); kept != nil {
			report.Assertions = append(report.Assertions, *kept)
			continue
		}
		if in.Pause != nil {
			in.Pause()
		}
		result, err := r.verify(&in.Assertions[i])
		if err != nil {
			return nil, err
		}
		if in.Base != nil && (result.Failed || in.AllByBase) {
			if err := r.age(&in.Assertions[i], result); err != nil {
				return nil, err
			}
		}
		report.Assertions = append(report.Assertions, *result)
	}
	report.count()
	report.Until = r.until()
	kept := *in
	kept.Before = nil
	report.from = &kept
	return report, nil
}

func (r *Report) count() {
	r.Summary = Summary{}
	for i := range r.Assertions {
		result := &r.Assertions[i]
		if result.Old {
			r.Summary.Old++
			continue
		}
		switch result.Verdict {
		case Holds:
			r.Summary.Holds++
		case Fails:
			r.Summary.Fails++
		case Excepted:
			r.Summary.Excepted++
		case Unknown:
			r.Summary.Unknown++
		default:
			r.Summary.Vacuous++
		}
	}
}

// world returns documents at a time.
func (r *run) world(name string, side *diff.Side, at time.Time) *world {
	w := side.World.Whole().At(dates.Of(at))
	if r.indices[w] == nil {
		r.indices[w] = newIndex(w)
	}
	return &world{name: name, index: r.indices[w], judge: side.Judge, at: at, views: make(map[string]*world)}
}

func newResult(a *assertion.Assertion) *Result {
	return &Result{
		Document: a.Document, Name: a.Name, Source: a.At.Source(), Point: a.Point, Form: a.Form,
		Why: []string{}, Documents: []Document{}, Notes: []Note{},
	}
}

// verify returns the verdict of one assertion.
func (r *run) verify(a *assertion.Assertion) (*Result, error) {
	if a.Path != nil {
		return r.verifyReach(a)
	}
	out := newResult(a)
	other, err := r.other(a)
	if err != nil {
		return nil, err
	}
	if other == nil && a.Form == assertion.Independent {
		out.Verdict, out.Text = Vacuous, fmt.Sprintf("no file fits %q", a.Documents.Value)
		return out.finish(a), nil
	}
	active, expired := r.exceptions(a)
	provers := r.provers(a, other)
	if err := r.saysNothing(a, provers, out); err != nil || out.Verdict == Vacuous {
		return out.finish(a), err
	}
	for _, u := range provers[0].unknownWords(slices.Concat(a.Of, a.Both())) {
		out.note("unknown-word", "%s", u.text())
	}
	found, by, err := r.prove(provers, slices.Concat(a.Unless, active))
	if err != nil {
		return nil, err
	}
	switch {
	case found.witness != nil:
		out.setWitness(a, by, found.witness, expired)
		if a.Form != assertion.Disjoint && a.Form != assertion.Covers { // about two requests, or places
			err = r.noteStale(a, provers, active, out)
		}
	case len(found.why) > 0:
		out.Verdict, out.Why = Unknown, found.why
		out.Text = "no request was found that breaks it, and no proof: " + strings.Join(out.Why, ", ")
	default:
		err = r.proven(a, provers, active, out)
	}
	if err != nil {
		return nil, err
	}
	return out.finish(a), nil
}

// provers returns a prover for each time at which an assertion is proven.
func (r *run) provers(a *assertion.Assertion, other *diff.Side) []*prover {
	var out []*prover
	for _, at := range r.times(a, other) {
		all := r.world(worldAll, r.Side, at)
		switch {
		case other == nil:
			out = append(out, newProver(r.ctx, a, at, all, nil))
		case a.Form == assertion.Independent:
			out = append(out, newProver(r.ctx, a, at, all, r.world(worldWithout, other, at)))
		default:
			out = append(out, newProver(r.ctx, a, at, all, r.world(worldReference, other, at)))
		}
	}
	return out
}

// prove returns the first witness, with the prover that found it, or the reasons why none is proven.
func (r *run) prove(provers []*prover, out []*assertion.Class) (*proof, *prover, error) {
	var why []string
	for _, p := range provers {
		r.SetNow(p.now)
		found, err := p.prove(out)
		if err != nil || found.witness != nil {
			return found, p, err
		}
		why = append(why, found.why...)
	}
	return &proof{why: tables.Entries(why)}, nil, nil
}

// saysNothing sets the verdict of an assertion that is vacuous at each time.
func (r *run) saysNothing(a *assertion.Assertion, provers []*prover, out *Result) error {
	why, unknown := "", unknownKey{}
	for i, p := range provers {
		r.SetNow(p.now)
		text, err := p.isEmpty(a.Unless)
		if err == nil && text == "" && len(a.Exceptions) == 0 { // an exception shows that the class is about something
			var word *unknownWord
			if word, err = p.unheardOf(); word != nil {
				text = "no rule reaches the class, and " + word.text()
				if i == 0 {
					unknown = word.unknownKey
				}
			}
		}
		if err != nil || text == "" {
			return err
		}
		why = cmp.Or(why, text)
	}
	out.Verdict, out.Text, out.unknown = Vacuous, why, unknown
	return nil
}

func (r *run) other(a *assertion.Assertion) (*diff.Side, error) {
	if a.Documents.Value == "" {
		return nil, nil
	}
	side, err := r.Reference(a)
	if side != nil {
		r.references[a] = side
	}
	return side, err
}

// proven sets the verdict of an assertion that holds with its exceptions.
func (r *run) proven(a *assertion.Assertion, provers []*prover, active []*assertion.Class, out *Result) error {
	out.Verdict, out.Text = Holds, "holds for every request of the class"
	out.nothingDenies = a.Form == assertion.Never && a.Word == assertion.Denied && !slices.ContainsFunc(provers, (*prover).isDenied)
	if len(active) > 0 {
		without, _, err := r.prove(provers, a.Unless)
		if err != nil {
			return err
		}
		if without.witness != nil {
			out.Verdict = Excepted
			out.Text = fmt.Sprintf("holds with its exceptions until %s", earliest(a, r.Now).Format(time.RFC3339))
		}
	}
	if r.HasCertificates && out.Verdict == Holds {
		if err := r.certify(a, provers, active, out); err != nil {
			return err
		}
	}
	return r.noteStale(a, provers, active, out)
}

// noteStale notes exceptions and entries of unless that nothing needs, and exceptions that end soon.
func (r *run) noteStale(a *assertion.Assertion, provers []*prover, active []*assertion.Class, out *Result) error {
	for i, e := range a.Exceptions {
		isActive := r.Now.Before(e.Until)
		if isActive && out.Verdict == Excepted {
			out.Exceptions = append(out.Exceptions, Exception{e.Reason, e.Until.UTC()})
		}
		isNeeded := isActive && out.Verdict != Holds
		if isNeeded {
			var rest []*assertion.Class
			for j, other := range a.Exceptions {
				if j != i && r.Now.Before(other.Until) {
					rest = append(rest, other.Of...)
				}
			}
			var err error
			if isNeeded, err = r.leavesOutMore(provers, e.Of, slices.Concat(a.Unless, rest)); err != nil {
				return err
			}
		}
		if !isNeeded && (isActive || out.Verdict != Fails) { // one that has ended may be what fails
			out.note("stale-exception", "the exception %q is needed by nothing", e.Reason)
		} else if out.Verdict == Excepted && e.Until.Sub(r.Now) <= soon {
			out.note("expires", "the exception %q ends at %s", e.Reason, e.Until.UTC().Format(time.RFC3339))
		}
	}
	for i := range a.Unless {
		isNeeded, err := r.leavesOutMore(provers, a.Unless[i:i+1], slices.Concat(a.Unless[:i], a.Unless[i+1:], active))
		if err != nil {
			return err
		}
		if !isNeeded {
			out.note(noteUnless, "entry %d of unless is needed by nothing", i)
		}
	}
	return nil
}

// leavesOutMore reports whether some classes leave out a request that may break the assertion and
// that others do not leave out.
func (r *run) leavesOutMore(provers []*prover, classes, others []*assertion.Class) (bool, error) {
	for _, p := range provers {
		p.within = classes
	}
	found, _, err := r.prove(provers, others)
	for _, p := range provers {
		p.within = nil
	}
	return err != nil || !found.holds(), err
}

// noteUnless notes an entry of unless that nothing needs.
const noteUnless = "stale-unless"

// soon is how long before its end an exception is noted.
const soon = 30 * 24 * time.Hour

func earliest(a *assertion.Assertion, now time.Time) time.Time {
	var first time.Time
	for _, e := range a.Exceptions {
		if now.Before(e.Until) && (first.IsZero() || e.Until.Before(first)) {
			first = e.Until
		}
	}
	return first.UTC()
}

func (out *Result) note(code, format string, args ...any) {
	out.Notes = append(out.Notes, Note{code, fmt.Sprintf(format, args...)})
}

// finish states whether the assertion fails the run.
func (out *Result) finish(a *assertion.Assertion) *Result {
	accepts := func(why string) bool {
		kind, _, _ := strings.Cut(why, ":")
		return slices.Contains(a.Allow, kind)
	}
	switch out.Verdict {
	case Fails:
		out.Failed = true
	case Unknown:
		out.Failed = slices.ContainsFunc(out.Why, func(why string) bool { return !accepts(why) })
	case Vacuous:
		out.Failed = !accepts(Vacuous)
	}
	return out
}

// exceptions returns the classes of exceptions that are in force, and of those that are not.
func (r *run) exceptions(a *assertion.Assertion) (active, expired []*assertion.Class) {
	for _, e := range a.Exceptions {
		if r.Now.Before(e.Until) {
			active = append(active, e.Of...)
		} else {
			expired = append(expired, e.Of...)
		}
	}
	return active, expired
}
