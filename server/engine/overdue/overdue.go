// Package overdue runs evaluations for callers that wait no longer than they may. An
// evaluation that goes on after its caller left is overdue. It takes a function and an
// owner, returns the function's result or the reason for leaving, and knows neither
// requests nor policies.
//
// # Design
//
// OPA looks at its cancel flag between the steps of an evaluation, and not within a
// built-in function. Only a caller on another goroutine can leave on time, whatever the
// function does. Nothing can end an overdue evaluation, so each holds a place until it
// ends, and places are bounded: without a place no evaluation begins. The places are
// divided into lanes by owner, so that the evaluations of one owner do not take the
// places of all others.
//
// Evaluations run on goroutines that are kept: an evaluation needs a large stack, and
// growing a new one costs more than a short evaluation.
package overdue

import (
	"context"
	"errors"
	"hash/maphash"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/writ-policy/writ/server/decision"
)

// Reasons for which an evaluation is not begun, or is cancelled.
var (
	errRefused = errors.New("too many evaluations are still running after their deadline")
	ErrMemory  = errors.New("the evaluation used too much memory")
)

const (
	lanes = 8
	// minPlaces is the smallest number of places of a lane. A lane has at least two for
	// each processor, so that it bounds no throughput.
	minPlaces = 8
	// grace is how long a caller waits for a cancelled evaluation, most of which end at
	// once and need not be counted.
	grace = 10 * time.Millisecond
)

// Observer counts overdue and refused evaluations. It must be safe for concurrent use.
type Observer interface {
	// EvaluationOverdue adds change, which may be negative, to the overdue evaluations.
	EvaluationOverdue(change int)
	// EvaluationRefused counts an evaluation that was refused because all places of its
	// lane are held by overdue ones.
	EvaluationRefused()
	// Panicked counts a panic of an overdue evaluation, which has no caller.
	Panicked()
}

// Runner has the places of evaluations. It is safe for concurrent use, and is shared by
// all revisions: what a revision left behind counts for the next. Make one with New.
type Runner struct {
	observer Observer
	seed     maphash.Seed
	// own is the lane of evaluations without an owner.
	own   lane
	lanes [lanes]lane
}

// lane is a set of places.
type lane struct {
	places  chan struct{}
	overdue atomic.Int32
}

// New returns a runner without evaluations. observer may be nil.
func New(observer Observer) *Runner {
	r := &Runner{observer: observer, seed: maphash.MakeSeed()}
	places := max(minPlaces, 2*runtime.GOMAXPROCS(0))
	r.own.places = make(chan struct{}, places)
	for i := range r.lanes {
		r.lanes[i].places = make(chan struct{}, places)
	}
	return r
}

// lane returns the lane of an owner. Owners may share one.
func (r *Runner) lane(owner string) *lane {
	if owner == "" {
		return &r.own
	}
	return &r.lanes[maphash.String(r.seed, owner)%lanes]
}

// Run returns what evaluate returns. When ctx ends or the time is over, Run cancels the
// evaluation and returns decision.ErrDeadline or decision.ErrCanceled, whether or not the
// evaluation ends. owner is whose Rego is evaluated; empty stands for generated Rego.
// evaluate must not use what the caller changes after Run. Its panic is Run's.
func Run[T any](ctx context.Context, r *Runner, owner string, within time.Duration, evaluate func(topdown.Cancel) (T, error)) (T, error) {
	var none T
	timer := time.NewTimer(within)
	defer timer.Stop()
	l := r.lane(owner)
	if err := r.enter(ctx, l, timer); err != nil {
		return none, err
	}
	c := &call[T]{evaluate: evaluate, runner: r, lane: l, ended: make(chan struct{})}
	start(c.run)
	select {
	case <-c.ended:
		return c.result()
	case <-timer.C:
	case <-ctx.Done():
	}
	c.cancel.Cancel()
	timer.Reset(grace)
	select {
	case <-c.ended:
		return c.result()
	case <-timer.C:
	}
	if r.leave(l, &c.state) {
		return none, reason(ctx)
	}
	<-c.ended // it ends at this moment
	return c.result()
}

// reason returns why a caller leaves.
func reason(ctx context.Context) error {
	if err := decision.CheckContext(ctx); err != nil {
		return err
	}
	return decision.ErrDeadline
}

// enter takes a place. It waits for one, unless all are held by overdue evaluations.
func (r *Runner) enter(ctx context.Context, l *lane, timer *time.Timer) error {
	select {
	case l.places <- struct{}{}:
		return nil
	default:
	}
	if int(l.overdue.Load()) >= cap(l.places) {
		if r.observer != nil {
			r.observer.EvaluationRefused()
		}
		return errRefused
	}
	select {
	case l.places <- struct{}{}:
		return nil
	case <-timer.C:
	case <-ctx.Done():
	}
	return reason(ctx)
}

// States of a call.
const (
	running int32 = iota
	over
	left
)

// leave counts an evaluation as overdue. It returns false if it ended.
func (r *Runner) leave(l *lane, state *atomic.Int32) bool {
	l.overdue.Add(1)
	r.count(1)
	if state.CompareAndSwap(running, left) {
		return true
	}
	l.overdue.Add(-1)
	r.count(-1)
	return false
}

func (r *Runner) count(change int) {
	if r.observer != nil {
		r.observer.EvaluationOverdue(change)
	}
}
