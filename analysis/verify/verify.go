package verify

import (
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
}

// run is the state of one Run.
type run struct {
	*Input
	ctx     context.Context
	indices map[*statement.World]*index
}

// Run proves assertions. It returns an error if a proof is not possible.
func Run(ctx context.Context, in *Input) (*Report, error) {
	r := &run{Input: in, ctx: ctx, indices: make(map[*statement.World]*index)}
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
		if in.Base != nil && result.Failed {
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
	return &world{name, r.indices[w], side.Judge}
}

// verify returns the verdict of one assertion.
func (r *run) verify(a *assertion.Assertion) (*Result, error) {
	out := &Result{
		Document: a.Document, Name: a.Name, Source: a.At.Source(), Point: a.Point, Form: a.Form,
		Why: []string{}, Documents: []statement.Document{}, Notes: []Note{},
	}
	if a.Point != assertion.Access {
		return nil, fmt.Errorf("%s: assertions at the point %s are not supported", a.ID(), a.Point)
	}
	other, err := r.other(a)
	if err != nil {
		return nil, err
	}
	if other == nil && a.Form == assertion.Independent {
		out.Verdict, out.Text = Vacuous, fmt.Sprintf("no file fits %q", a.Documents.Value)
		return out.finish(a), nil
	}
	active, expired := r.exceptions(a)
	isEmpty := true
	why := []string{}
	for _, at := range r.times(a) {
		r.SetNow(at)
		p := r.prover(a, other, at)
		empty, err := p.isEmpty(a.Unless)
		if err != nil {
			return nil, err
		}
		if empty {
			continue
		}
		isEmpty = false
		proven, err := p.prove(slices.Concat(a.Unless, active))
		if err != nil {
			return nil, err
		}
		if w := proven.witness; w != nil {
			out.setWitness(a, p, w, at, expired)
			return out.finish(a), nil
		}
		why = append(why, proven.why...)
	}
	switch {
	case isEmpty:
		out.Verdict, out.Text = Vacuous, "no request is in the class"
	case len(why) > 0:
		out.Verdict, out.Why = Unknown, tables.Entries(why)
		out.Text = "no request was found that breaks it, and no proof: " + strings.Join(out.Why, ", ")
	default:
		return r.proven(a, other, active, out)
	}
	return out.finish(a), nil
}

func (r *run) prover(a *assertion.Assertion, other *diff.Side, at time.Time) *prover {
	all := r.world(worldAll, r.Side, at)
	if other == nil {
		return newProver(r.ctx, a, at, all, nil)
	}
	name := worldReference
	if a.Form == assertion.Independent {
		name = worldWithout
	}
	return newProver(r.ctx, a, at, all, r.world(name, other, at))
}

func (r *run) other(a *assertion.Assertion) (*diff.Side, error) {
	if a.Documents.Value == "" {
		return nil, nil
	}
	return r.Reference(a)
}

// proven returns the verdict of an assertion that holds with its exceptions.
func (r *run) proven(a *assertion.Assertion, other *diff.Side, active []*assertion.Class, out *Result) (*Result, error) {
	p := r.prover(a, other, r.Now)
	r.SetNow(r.Now)
	if len(a.Exceptions) == 0 { // an exception shows that the class is about something
		text, err := p.unheardOf()
		if err != nil {
			return nil, err
		}
		if text != "" {
			out.Verdict, out.Text = Vacuous, text
			return out.finish(a), nil
		}
	}
	out.Verdict, out.Text = Holds, "holds for every request of the class"
	if len(active) > 0 {
		without, err := r.prover(a, other, r.Now).prove(a.Unless)
		if err != nil {
			return nil, err
		}
		if without.witness != nil {
			out.Verdict = Excepted
			out.Text = fmt.Sprintf("holds with its exceptions until %s", earliest(a, r.Now).Format(time.RFC3339))
		}
	}
	holdsWithout := func(classes []*assertion.Class) (bool, error) {
		proven, err := r.prover(a, other, r.Now).prove(classes)
		return err == nil && proven.holds(), err
	}
	for i, e := range a.Exceptions {
		if !r.Now.Before(e.Until) {
			continue
		}
		stale := out.Verdict == Holds
		if !stale {
			var rest []*assertion.Class
			for j, other := range a.Exceptions {
				if j != i && r.Now.Before(other.Until) {
					rest = append(rest, other.Of...)
				}
			}
			var err error
			if stale, err = holdsWithout(slices.Concat(a.Unless, rest)); err != nil {
				return nil, err
			}
		}
		if stale {
			out.note("stale-exception", "the exception %q is needed by nothing", e.Reason)
		} else if e.Until.Sub(r.Now) <= soon {
			out.note("expires", "the exception %q ends at %s", e.Reason, e.Until.UTC().Format(time.RFC3339))
		}
	}
	for i := range a.Unless {
		stale, err := holdsWithout(slices.Concat(a.Unless[:i], a.Unless[i+1:], active))
		if err != nil {
			return nil, err
		}
		if stale {
			out.note("stale-unless", "entry %d of unless is needed by nothing", i)
		}
	}
	return out.finish(a), nil
}

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

// bounds returns the times at which documents begin or have ended to hold, sorted.
func (r *run) bounds() []time.Time {
	var out []time.Time
	for _, d := range r.World.Whole().Dated() {
		for _, at := range d.Dates.Bounds() {
			out = append(out, at.Time())
		}
	}
	if t := tables.Of[*tables.Sessions](r.World.Whole().Revision.Tables); t != nil {
		for _, s := range t.Sessions.All() {
			for _, at := range s.Dates.Bounds() {
				out = append(out, at.Time())
			}
		}
		for _, s := range t.Debug.All() {
			for _, at := range s.Dates.Bounds() {
				out = append(out, at.Time())
			}
		}
	}
	slices.SortFunc(out, time.Time.Compare)
	return slices.CompactFunc(out, time.Time.Equal)
}

// times returns the times at which an assertion is proven: now, or one in each piece
// between the times at which documents begin or end.
func (r *run) times(a *assertion.Assertion) []time.Time {
	bounds := r.bounds()
	switch {
	case a.Time.Any && len(bounds) > 0:
		return append([]time.Time{bounds[0].Add(-time.Second)}, bounds...)
	case !a.Time.Interval:
		return []time.Time{r.Now}
	}
	var first time.Time
	switch {
	case a.Time.From != nil:
		first = *a.Time.From
	case len(bounds) > 0:
		first = bounds[0].Add(-time.Second)
	default:
		first = r.Now
	}
	if to := a.Time.To; to != nil && first.After(*to) {
		first = *to
	}
	out := []time.Time{first}
	for _, at := range bounds {
		if at.After(first) && (a.Time.To == nil || !at.After(*a.Time.To)) {
			out = append(out, at)
		}
	}
	return out
}

// until returns the next time at which a verdict may be another one.
func (r *run) until() *time.Time {
	next := r.bounds()
	for i := range r.Assertions {
		for _, e := range r.Assertions[i].Exceptions {
			next = append(next, e.Until)
		}
	}
	slices.SortFunc(next, time.Time.Compare)
	for _, at := range next {
		if at.After(r.Now) {
			at = at.UTC()
			return &at
		}
	}
	return nil
}
