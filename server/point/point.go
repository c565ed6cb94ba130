// Package point evaluates requests at a decision point for the adapters of all
// protocols: with a deadline, with panics turned into evaluation errors, counted and recorded. It
// does not depend on any protocol.
package point

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/metrics"
)

// Failed returns the answer of type D for an evaluation error.
func Failed[D interface{ Failed(cause string) D }](cause string) *D {
	var d D
	d = d.Failed(cause)
	return &d
}

// Guard reports panics, and what is decided. It is safe for concurrent use.
type Guard struct {
	Metrics *metrics.Metrics
	Logger  *slog.Logger
	// Log records decisions, and Observer observes them; both may be nil.
	Log      decision.Log
	Observer decision.Observer
}

// Panicked counts and logs a panic. what names the operation that panicked.
func (g *Guard) Panicked(ctx context.Context, what string, cause any) {
	g.Metrics.Panicked()
	g.Logger.ErrorContext(ctx, "panic", "in", what, "panic", cause, "stack", string(debug.Stack()))
}

// Decide decides a question.
func (g *Guard) Decide(ctx context.Context, p decision.Policies, q decision.Question) (d decision.Answer, invalid *decision.InvalidRequest) {
	defer g.Protect(ctx, func(cause string) { d, invalid = q.Failed(cause), nil })
	return q.Decide(ctx, p)
}

// Protect makes a panic an evaluation error when it is deferred, so that a caller does not take it
// for "no opinion". failed sets the answer.
func (g *Guard) Protect(ctx context.Context, failed func(cause string)) {
	if cause := recover(); cause != nil {
		g.Panicked(ctx, "evaluation", cause)
		failed(decision.ErrInternal.Error())
	}
}

// Asked states what is asked, and where.
type Asked struct {
	Policies decision.Policies
	Point    string
	Counter  *metrics.Point // of the point
	Endpoint string         // as in decision.Observation
	From     string         // the address of the sender
	Within   time.Duration  // for each decision
}

// Series decides questions of one request at a point, one after the other, with what the
// first one allocated. Each decision takes from the end of the one before, so that the clock
// is read once for each.
type Series struct {
	Asked
	guard  *Guard
	ctx    context.Context
	began  time.Time
	passed time.Duration // until the end of the last decision
	spare  *deadline     // of a decision whose evaluation did not ask for it
	answer decision.Answer
	result func() []byte // the answer as JSON; bound once
}

var allSeries = sync.Pool{New: func() any {
	s := new(Series)
	s.result = func() []byte { return s.answer.AppendJSON(nil) }
	return s
}}

// Begin begins a series. Its caller calls End.
func (g *Guard) Begin(ctx context.Context, of Asked) *Series {
	s := allSeries.Get().(*Series)
	*s = Series{Asked: of, guard: g, ctx: ctx, began: time.Now(), spare: s.spare, result: s.result}
	return s
}

// End ends the series, which must not be used afterwards.
func (s *Series) End() {
	*s = Series{spare: s.spare, result: s.result}
	if s.spare != nil {
		s.spare.Context = nil
	}
	allSeries.Put(s)
}

// Restart leaves out the time since the last decision.
func (s *Series) Restart() { s.passed = time.Since(s.began) }

// Decide decides a question within the time of a decision. It settles the decision, counts
// the outcome and records the decision, with the input as it is then. An invalid request is
// returned, and neither counted nor recorded.
func (s *Series) Decide(q decision.Question, input func() []byte) (decision.Answer, *decision.InvalidRequest) {
	bound := s.spare
	if s.spare = nil; bound == nil {
		bound = new(deadline)
	}
	bound.Context, bound.at = s.ctx, s.began.Add(s.passed+s.Within)
	d, invalid := s.guard.Decide(bound, s.Policies, q)
	passed := time.Since(s.began)
	took := passed - s.passed
	s.passed = passed
	if invalid != nil {
		bound.end()
		return d, invalid
	}
	s.answer = d
	outcome := d.Settle()
	s.Counter.Decided(outcome, took)
	matched, cached := d.DecidedBy()
	// An evaluation may hold on to its deadline after the answer.
	if cached && !bound.isUsed() {
		s.spare = bound
	} else {
		bound.end()
	}
	s.record(decision.Observation{
		Point: s.Point, Revision: s.Policies.Loaded().Revision, Endpoint: s.Endpoint, Outcome: outcome, Took: took, Cached: cached, Matched: matched,
		Input: input, Result: s.result,
	})
	return d, nil
}

// record passes a decision to what records decisions.
func (s *Series) record(o decision.Observation) {
	g, ctx := s.guard, s.ctx
	if g.Observer != nil {
		g.Observer.Observe(o)
	}
	var id string
	if g.Log != nil || g.Logger.Enabled(ctx, slog.LevelDebug) {
		id = decision.TrailOf(ctx).Add(o.Outcome)
	}
	if g.Log != nil {
		g.Log.Log(decision.Event{
			ID: id, Point: o.Point, Revision: o.Revision, RequestedBy: s.From,
			Span: decision.SpanOf(ctx), Time: time.Now(), Input: o.Input(), Result: o.Result(),
		})
	}
}
