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

// Decide is Protect with a deadline. It settles the decision and counts the outcome. An
// invalid request is returned and not counted.
func Decide[D Decision](ctx context.Context, g *Guard, counter *metrics.Point, within time.Duration, failed func(cause string) D, evaluate func(context.Context) (D, *decision.InvalidRequest)) (D, Decided, *decision.InvalidRequest) {
	began := time.Now()
	bound := &deadline{Context: ctx, at: began.Add(within)}
	defer bound.end()
	d, invalid := Protect(bound, g, failed, evaluate)
	if invalid != nil {
		return d, Decided{}, invalid
	}
	of := Decided{d.Settle(), time.Since(began)}
	counter.Decided(of.Outcome, of.Took)
	return d, of, nil
}
