package cache

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/translator/dates"
)

// dated allows before an instant and not from it on. It reads the clock when it is asked.
type dated struct {
	*policies
	now func() time.Time
	end dates.Instant
}

func (v dated) Now() time.Time { return v.now() }

func (v dated) At(now time.Time) decision.Policies {
	v.now = func() time.Time { return now }
	return v
}

func (v dated) Access(ctx context.Context, r *decision.Request) decision.Decision {
	at := dates.Of(v.now())
	d := v.policies.Access(ctx, r)
	d.Allowed = at < v.end
	d.Span = dates.Span{}.Around(at, &dates.Period{Until: &v.end})
	return d
}

// clock is a time that a test sets.
type clock struct{ nanoseconds atomic.Int64 }

func (c *clock) now() time.Time { return time.Unix(0, c.nanoseconds.Load()) }

func newDated(end int64) (dated, *clock, *Cache) {
	c := new(clock)
	p := dated{newPolicies("r1"), c.now, dates.Instant(end)}
	return p, c, New(Options{Entries: 10, Now: c.now}, metrics.New())
}

// A decision is used between the bounds around the instant it was decided at, also after
// the clock was set back.
func TestSpan(t *testing.T) {
	p, c, kept := newDated(100)
	for _, step := range []struct {
		now             int64
		allowed, cached bool
	}{{98, true, false}, {99, true, true}, {100, false, false}, {200, false, true}, {99, true, false}, {0, true, true}, {100, false, false}} {
		c.nanoseconds.Store(step.now)
		d := kept.Of(p).Access(t.Context(), ask("a", "get"))
		if d.Allowed != step.allowed || d.Cached != step.cached {
			t.Errorf("at %d: got allowed %t and cached %t, want %t and %t", step.now, d.Allowed, d.Cached, step.allowed, step.cached)
		}
	}
}

// holdFirst holds the first decision, which closes inside, until release is closed.
func holdFirst(p *policies) (inside, release chan struct{}) {
	inside, release = make(chan struct{}), make(chan struct{})
	var first atomic.Bool
	p.wait = func(context.Context, *decision.Request) {
		if first.CompareAndSwap(false, true) {
			close(inside)
			<-release
		}
	}
	return inside, release
}

// A caller that comes after a bound does not take the answer of one that came before it.
func TestInFlightOverBound(t *testing.T) {
	p, c, kept := newDated(100)
	inside, release := holdFirst(p.policies)
	c.nanoseconds.Store(99)
	early := make(chan decision.Decision)
	go func() { early <- kept.Of(p).Access(context.Background(), ask("a", "get")) }()
	<-inside
	c.nanoseconds.Store(100)
	late := make(chan decision.Decision)
	go func() { late <- kept.Of(p).Access(context.Background(), ask("a", "get")) }()
	close(release)
	if d := <-early; !d.Allowed {
		t.Error("the first caller read the clock before the bound, and is not allowed")
	}
	if d := <-late; d.Allowed {
		t.Error("the second caller came after the bound, and is allowed")
	}
	if d := kept.Of(p).Access(t.Context(), ask("a", "get")); d.Allowed {
		t.Error("a later caller is allowed")
	}
}

// Requests that are decided together are decided at one time.
func TestAtNow(t *testing.T) {
	p, c, kept := newDated(100)
	c.nanoseconds.Store(99)
	together := kept.Of(p).AtNow()
	c.nanoseconds.Store(100)
	if d := kept.Of(p).Access(t.Context(), ask("a", "get")); d.Allowed {
		t.Error("a request by itself is allowed after the end")
	}
	for _, user := range []string{"a", "b", "a"} {
		if d := together.Access(t.Context(), ask(user, "get")); !d.Allowed {
			t.Errorf("the request of %s is not decided at the time of the others", user)
		}
	}
}

// A decision that reads the clock is valid at its instant alone. A caller that comes later does not
// take it from one whose clock stands still, as that of requests which are decided together does.
func TestInFlightOverExpiry(t *testing.T) {
	p, c, kept := newDated(200)
	inside, release := holdFirst(p.policies)
	c.nanoseconds.Store(99)
	p.expires = time.Unix(0, 99)
	early := make(chan decision.Decision)
	go func() { early <- kept.Of(p).AtNow().Access(context.Background(), ask("a", "get")) }()
	<-inside
	c.nanoseconds.Store(100)
	late, waits := make(chan decision.Decision), make(chan struct{})
	go func() {
		late <- kept.Of(p).Access(waiting{context.Background(), sync.OnceFunc(func() { close(waits) })}, ask("a", "get"))
	}()
	<-waits
	close(release)
	<-early
	<-late
	if got := p.asked.Load(); got != 2 {
		t.Errorf("got %d evaluations for two instants, want 2", got)
	}
}

// waiting is a context that reports when something waits for its end.
type waiting struct {
	context.Context
	begins func()
}

func (w waiting) Done() <-chan struct{} {
	w.begins()
	return w.Context.Done()
}
