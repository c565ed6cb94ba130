package replay

import (
	"context"
	"slices"
	"time"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/server/decision"
)

// Event is a record of a log with its decision.
type Event struct {
	// Log is the name of the log, Hash that of the text of the record.
	Log   string
	Line  int
	Hash  uint64
	Point string
	// Question is a *decision.Request at the point access.
	Question decision.Question
	Time     time.Time
	// IsAllowed states that the record has the outcome to allow, IsDenied that it has another one.
	IsAllowed, IsDenied bool
	Verdict             statement.Verdict
	// Variants are the verdicts with values of facts that the record lacks, if the decision
	// rests on them; nil otherwise.
	Variants []statement.Verdict

	record *record
}

// IsRefused reports whether the decision does not allow the event, whatever the facts are that
// the record lacks.
func (e *Event) IsRefused() bool {
	return e.Variants == nil && e.Verdict.Outcome != statement.OutcomeAllow
}

// isDenied reports whether the recorded outcome is not to allow.
func (r *record) isDenied() bool {
	return r.outcome == statement.OutcomeDeny || r.outcome == statement.OutcomeNone || r.outcome == forbidden
}

// observe calls the observer with a record.
func (w *worker) observe(ctx context.Context, at time.Time, r *record, v statement.Verdict, l line) error {
	e := &Event{
		Log: l.file, Line: l.number, Hash: hash(string(l.text)), Point: r.point, Question: r.question, Time: r.time, Verdict: v, record: r,
		IsAllowed: r.outcome == statement.OutcomeAllow, IsDenied: r.isDenied(),
	}
	fact, err := w.vary(ctx, at, e)
	if err != nil {
		return err
	}
	if fact != "" {
		w.tally.uncertain[fact]++
	} else {
		w.tally.unchanged++
	}
	w.o.Observe(e)
	return nil
}

// vary sets the variants of an event. It returns the fact that the decision rests on, empty
// for none.
func (w *worker) vary(ctx context.Context, at time.Time, e *Event) (string, error) {
	fact, isUncertain, err := w.uncertain(ctx, at, e.record, e.Verdict, e.Verdict)
	if err != nil || !isUncertain {
		return "", err
	}
	e.Variants, err = w.variants(ctx, at, e.record, e.Verdict)
	return fact, err
}

// Again returns an event as the revision of some options decides it.
func (e *Event) Again(ctx context.Context, o *Options) (*Event, error) {
	w, out, at := &worker{o: o}, *e, e.Time
	if !o.Now.IsZero() {
		at = o.Now
	}
	var err error
	if out.Verdict, err = o.Decide(ctx, at, e.Point, e.Question); err != nil {
		return nil, err
	}
	out.Variants = nil
	_, err = w.vary(ctx, at, &out)
	return &out, err
}

// variants returns the verdicts with values of the facts that a record lacks. Of facts whose
// values cannot be listed, some are tried.
func (w *worker) variants(ctx context.Context, at time.Time, r *record, v statement.Verdict) ([]statement.Verdict, error) {
	request, facts := w.o.lacking(r, v, v)
	facts = slices.DeleteFunc(facts, func(f fact) bool { return len(f.values) == 0 })
	n := 1
	for _, f := range facts {
		n = min(n*len(f.values), maxVariants)
	}
	var out []statement.Verdict
	for i := range n {
		q, ok := variant(r.point, request, facts, i)
		if !ok {
			continue
		}
		one, err := w.o.Decide(ctx, at, r.point, q)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}
