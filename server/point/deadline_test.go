package point

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A deadline behaves as context.WithDeadline, before and after something waits for it.
func TestDeadline(t *testing.T) {
	type key struct{}
	for name, prepare := range map[string]func(context.Context){
		"nothing waits":        func(context.Context) {},
		"something waits":      func(ctx context.Context) { ctx.Done() },
		"a child is derived":   func(ctx context.Context) { _, cancel := context.WithCancel(ctx); t.Cleanup(cancel) },
		"the error was asked":  func(ctx context.Context) { _ = ctx.Err() },
		"a callback is waited": func(ctx context.Context) { context.AfterFunc(ctx, func() {}) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				parent, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
				d := &deadline{Context: parent, at: time.Now().Add(time.Minute)}
				prepare(d)
				if at, ok := d.Deadline(); !ok || !at.Equal(d.at) || d.Err() != nil || d.Value(key{}) != "value" {
					t.Errorf("before: got deadline %v, %t, error %v, value %v", at, ok, d.Err(), d.Value(key{}))
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				if !errors.Is(d.Err(), context.DeadlineExceeded) || !isDone(d) {
					t.Errorf("after: got error %v, done %t", d.Err(), isDone(d))
				}
				d.end()
				cancel()

				parent, cancel = context.WithCancel(t.Context())
				d = &deadline{Context: parent, at: time.Now().Add(time.Minute)}
				prepare(d)
				cancel()
				synctest.Wait()
				if !errors.Is(d.Err(), context.Canceled) || !isDone(d) {
					t.Errorf("a canceled parent: got error %v, done %t", d.Err(), isDone(d))
				}
				d.end()

				d = &deadline{Context: t.Context(), at: time.Now().Add(time.Minute)}
				prepare(d)
				d.end()
				synctest.Wait()
				if !errors.Is(d.Err(), context.Canceled) || !isDone(d) {
					t.Errorf("at the end: got error %v, done %t", d.Err(), isDone(d))
				}
			})
		})
	}
}

func isDone(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return true
	default:
		return false
	}
}

// An earlier deadline of the parent holds.
func TestDeadlineOfTheParent(t *testing.T) {
	earlier := time.Now().Add(time.Hour)
	parent, cancel := context.WithDeadline(t.Context(), earlier)
	defer cancel()
	d := &deadline{Context: parent, at: earlier.Add(time.Hour)}
	defer d.end()
	if at, ok := d.Deadline(); !ok || !at.Equal(earlier) {
		t.Errorf("got %v, %t, want %v", at, ok, earlier)
	}
}
