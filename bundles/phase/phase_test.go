package phase

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
)

// tape is a Listener that writes down what it hears.
type tape struct{ heard []string }

func (t *tape) Begin(ctx context.Context, p *Phase) (context.Context, Ear) {
	t.heard = append(t.heard, "begin "+string(p.Name))
	return context.WithValue(ctx, t, p.Name), &track{t, p}
}

type track struct {
	*tape
	p *Phase
}

func (t *track) Set(key Key, value any) {
	t.heard = append(t.heard, fmt.Sprintf("%s: %s=%v", t.p.Name, key, value))
}

func (t *track) End(err error) {
	n, unit := t.p.Done()
	t.heard = append(t.heard, fmt.Sprintf("end %s: %d %s, %v", t.p.Name, n, unit, err))
}

// Every listener hears every phase in order, and a step's context is the one that the
// listener made of its parent's.
func TestListenersHearPhases(t *testing.T) {
	first, second := &tape{}, &tape{}
	ctx := Listen(Listen(t.Context(), first, nil), second)
	ctx, whole := Begin(ctx, Reload)
	err := Do(ctx, Fetch, func(ctx context.Context) error {
		if got := ctx.Value(first); got != Fetch {
			t.Errorf("the context of the step: got %v", got)
		}
		From(ctx).Count(3, "bytes")
		From(ctx).Count(4, "bytes")
		return errors.New("cut")
	})
	whole.Set(Outcome, "refused")
	whole.End(err)
	want := []string{"begin reload", "begin fetch", "end fetch: 7 bytes, cut", "reload: outcome=refused", "end reload: 0 , cut"}
	for _, listener := range []*tape{first, second} {
		if !slices.Equal(listener.heard, want) {
			t.Errorf("got %q, want %q", listener.heard, want)
		}
	}
}

// Where nobody listens nothing is kept, and saying something costs nothing.
func TestNobodyListens(t *testing.T) {
	ctx, p := Begin(Listen(t.Context(), nil), Reload)
	if p != nil || From(ctx) != nil {
		t.Fatal("there is a phase")
	}
	allocations := testing.AllocsPerRun(100, func() {
		ctx, p := Begin(ctx, Fetch)
		p.Count(1, "bytes")
		p.Set(Outcome, Unchanged)
		p.End(nil)
		From(ctx).Count(1, "bytes")
	})
	if allocations != 0 {
		t.Errorf("got %v allocations, want none", allocations)
	}
}

func TestPanicEndsThePhase(t *testing.T) {
	heard := &tape{}
	func() {
		defer func() { _ = recover() }()
		_ = Do(Listen(t.Context(), heard), Check, func(context.Context) error { panic("a bug") })
	}()
	if want := []string{"begin check", "end check: 0 , it panicked"}; !slices.Equal(heard.heard, want) {
		t.Errorf("got %q, want %q", heard.heard, want)
	}
}

func TestCountFromManyGoroutines(t *testing.T) {
	_, p := Begin(Listen(t.Context(), &tape{}), Translate)
	var work sync.WaitGroup
	for range 8 {
		work.Go(func() {
			for range 100 {
				p.Count(1, "files")
			}
		})
	}
	work.Wait()
	if n, unit := p.Done(); n != 800 || unit != "files" {
		t.Errorf("got %d %s", n, unit)
	}
}
