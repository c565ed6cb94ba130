package overdue

import (
	"context"
	"errors"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/writ-policy/writ/server/decision"
)

// counts is an Observer.
type counts struct{ overdue, refused, panicked atomic.Int64 }

func (c *counts) EvaluationOverdue(change int) { c.overdue.Add(int64(change)) }
func (c *counts) EvaluationRefused()           { c.refused.Add(1) }
func (c *counts) Panicked()                    { c.panicked.Add(1) }

func waitFor(t *testing.T, what string, isTrue func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !isTrue(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not happen", what)
		}
	}
}

// stuck is an evaluation that ignores its cancellation until release is closed.
func stuck(release chan struct{}) func(topdown.Cancel) (int, error) {
	return func(topdown.Cancel) (int, error) {
		<-release
		return 1, nil
	}
}

func TestRunReturnsWhatEvaluateReturns(t *testing.T) {
	r := New(nil)
	failure := errors.New("failed")
	for range 3 {
		if got, err := Run(t.Context(), r, "a", time.Minute, func(topdown.Cancel) (int, error) { return 7, nil }); got != 7 || err != nil {
			t.Errorf("got %d, %v, want 7", got, err)
		}
		if _, err := Run(t.Context(), r, "", time.Minute, func(topdown.Cancel) (int, error) { return 0, failure }); !errors.Is(err, failure) {
			t.Errorf("got %v, want %v", err, failure)
		}
	}
}

func TestRunLeavesAtTheDeadline(t *testing.T) {
	seen := &counts{}
	r := New(seen)
	release := make(chan struct{})
	if _, err := Run(t.Context(), r, "a", time.Millisecond, stuck(release)); !errors.Is(err, decision.ErrDeadline) {
		t.Errorf("got %v after the time, want %v", err, decision.ErrDeadline)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	if _, err := Run(ctx, r, "a", time.Minute, stuck(release)); !errors.Is(err, decision.ErrCanceled) {
		t.Errorf("got %v after the caller's end, want %v", err, decision.ErrCanceled)
	}
	if got := seen.overdue.Load(); got != 2 {
		t.Errorf("got %d overdue, want 2", got)
	}
	close(release)
	waitFor(t, "the end of both", func() bool { return seen.overdue.Load() == 0 })
}

func TestCancelledEvaluationIsNotOverdue(t *testing.T) {
	seen := &counts{}
	_, err := Run(t.Context(), New(seen), "a", time.Millisecond, func(c topdown.Cancel) (int, error) {
		for !c.Cancelled() {
			time.Sleep(100 * time.Microsecond)
		}
		return 0, decision.ErrDeadline
	})
	if !errors.Is(err, decision.ErrDeadline) {
		t.Errorf("got %v, want %v", err, decision.ErrDeadline)
	}
	waitFor(t, "the end", func() bool { return seen.overdue.Load() == 0 })
}

// However many callers there are, the evaluations that run are bounded, the owner's
// next ones are refused, and those of another lane go on.
func TestPlacesAreBounded(t *testing.T) {
	seen := &counts{}
	r := New(seen)
	release := make(chan struct{})
	var begun atomic.Int64
	var callers sync.WaitGroup
	for range 200 {
		callers.Go(func() {
			_, err := Run(t.Context(), r, "a", 20*time.Millisecond, func(c topdown.Cancel) (int, error) {
				begun.Add(1)
				return stuck(release)(c)
			})
			if !errors.Is(err, decision.ErrDeadline) && !errors.Is(err, errRefused) {
				t.Errorf("got %v, want the deadline or a refusal", err)
			}
		})
	}
	callers.Wait()
	places := int64(cap(r.lane("a").places))
	waitFor(t, "the begin of an evaluation in every place", func() bool { return begun.Load() == places })
	if got := seen.overdue.Load(); got != places {
		t.Errorf("got %d overdue, want %d", got, places)
	}
	before := seen.refused.Load()
	if _, err := Run(t.Context(), r, "a", time.Minute, stuck(release)); !errors.Is(err, errRefused) || seen.refused.Load() != before+1 {
		t.Errorf("got %v, %d refused, want a refusal at once", err, seen.refused.Load()-before)
	}
	other := func(topdown.Cancel) (int, error) { return 1, nil }
	if _, err := Run(t.Context(), r, "", time.Minute, other); err != nil {
		t.Errorf("generated Rego: got %v", err)
	}
	close(release)
	waitFor(t, "the end of all", func() bool { return seen.overdue.Load() == 0 && len(r.lane("a").places) == 0 })
	if _, err := Run(t.Context(), r, "a", time.Minute, other); err != nil {
		t.Errorf("the same owner afterwards: got %v", err)
	}
}

func TestPanic(t *testing.T) {
	seen := &counts{}
	r := New(seen)
	func() {
		defer func() {
			p, ok := recover().(*evaluationPanic)
			if !ok || p.cause != "a bug" || !strings.Contains(p.Error(), "TestPanic") {
				t.Errorf("got panic %v, want that of the evaluation", p)
			}
		}()
		_, _ = Run(t.Context(), r, "a", time.Minute, func(topdown.Cancel) (int, error) { panic("a bug") })
	}()
	release := make(chan struct{})
	_, err := Run(t.Context(), r, "a", time.Millisecond, func(topdown.Cancel) (int, error) {
		<-release
		panic("a late bug")
	})
	if !errors.Is(err, decision.ErrDeadline) {
		t.Errorf("got %v, want %v", err, decision.ErrDeadline)
	}
	close(release)
	waitFor(t, "the late panic", func() bool { return seen.panicked.Load() == 1 && seen.overdue.Load() == 0 })
}

// An evaluation that keeps what it allocates ends before its time is over.
func TestMemoryIsBounded(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // as it is used, however the tests are run
	var kept [][]byte
	_, err := Run(t.Context(), New(nil), "a", 2*time.Minute, func(c topdown.Cancel) (int, error) {
		for step := 0; !c.Cancelled(); step++ {
			if step%checkEvery == 0 {
				kept = append(kept, make([]byte, 4<<20))
				time.Sleep(time.Millisecond)
			}
		}
		return len(kept), nil
	})
	if !errors.Is(err, ErrMemory) || len(kept)<<22 > 4*maxGrowth {
		t.Errorf("got %v after %d MiB, want %v", err, len(kept)*4, ErrMemory)
	}
}

func BenchmarkRun(b *testing.B) {
	r := New(nil)
	for b.Loop() {
		_, _ = Run(b.Context(), r, "a", time.Minute, func(topdown.Cancel) (int, error) { return 1, nil })
	}
}
