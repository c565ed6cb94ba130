// Package point evaluates requests at a decision point for the adapters of all
// protocols: with a deadline, with panics turned into evaluation errors, and counted. It
// does not depend on any protocol.
package point

import (
	"context"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/metrics"
)

// Decision is a decision at any point: a pointer to its type, or a decision.Answer.
type Decision interface {
	// Settle makes the decision consistent and returns its outcome.
	Settle() decision.Outcome
	// DecidedBy returns the rules that matched, and whether the decision was made for an
	// earlier request.
	DecidedBy() (matched []decision.Matched, cached bool)
}

// Failed returns the answer of type D for an evaluation error.
func Failed[D interface{ Failed(cause string) D }](cause string) *D {
	var d D
	d = d.Failed(cause)
	return &d
}

// Guard reports panics. It is safe for concurrent use.
type Guard struct {
	Metrics *metrics.Metrics
	Logger  *slog.Logger
}

// Panicked counts and logs a panic. what names the operation that panicked.
func (g *Guard) Panicked(ctx context.Context, what string, cause any) {
	g.Metrics.Panicked()
	g.Logger.ErrorContext(ctx, "panic", "in", what, "panic", cause, "stack", string(debug.Stack()))
}

// Protect calls evaluate and returns its results. A panic becomes the answer that failed
// returns, so that a caller does not take it for "no opinion".
func Protect[D any](ctx context.Context, g *Guard, failed func(cause string) D, evaluate func(context.Context) (D, *decision.InvalidRequest)) (d D, invalid *decision.InvalidRequest) {
	defer func() {
		if cause := recover(); cause != nil {
			g.Panicked(ctx, "evaluation", cause)
			d, invalid = failed(decision.ErrInternal.Error()), nil
		}
	}()
	return evaluate(ctx)
}

// Decided is the outcome of a settled decision, and how long the decision took.
type Decided struct {
	Outcome decision.Outcome
	Took    time.Duration
}

// Series makes decisions one after the other. Each takes from the end of the one before, so
// that the clock is read once for each.
type Series struct {
	guard   *Guard
	counter *metrics.Point
	ctx     context.Context
	within  time.Duration // for each decision
	began   time.Time
	passed  time.Duration // until the end of the last decision
	spare   *deadline     // of a decision whose evaluation did not ask for it
}

// Begin begins a series of decisions, each of which may take within. A series may begin again.
func (s *Series) Begin(ctx context.Context, g *Guard, counter *metrics.Point, within time.Duration) {
	*s = Series{guard: g, counter: counter, ctx: ctx, within: within, began: time.Now(), spare: s.spare}
}

// Restart leaves out the time since the last decision.
func (s *Series) Restart() { s.passed = time.Since(s.began) }

// Release drops what belongs to the requests.
func (s *Series) Release() {
	*s = Series{spare: s.spare}
	if s.spare != nil {
		s.spare.Context = nil
	}
}

// Decide is Protect with a deadline. It settles the decision and counts the outcome. An
// invalid request is returned and not counted.
func Decide[D Decision](s *Series, failed func(cause string) D, evaluate func(context.Context) (D, *decision.InvalidRequest)) (D, Decided, *decision.InvalidRequest) {
	bound := s.spare
	if s.spare = nil; bound == nil {
		bound = new(deadline)
	}
	bound.Context, bound.at = s.ctx, s.began.Add(s.passed+s.within)
	d, invalid := Protect(bound, s.guard, failed, evaluate)
	passed := time.Since(s.began)
	took := passed - s.passed
	s.passed = passed
	if invalid != nil {
		bound.end()
		return d, Decided{}, invalid
	}
	of := Decided{d.Settle(), took}
	s.counter.Decided(of.Outcome, of.Took)
	// An evaluation may hold on to its deadline after the answer.
	if _, cached := d.DecidedBy(); cached && !bound.isUsed() {
		s.spare = bound
	} else {
		bound.end()
	}
	return d, of, nil
}
