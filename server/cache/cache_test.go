package cache

import (
	"context"
	"fmt"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/server/projection"
)

// policies decides by the verb: it allows get, denies deny, and returns an evaluation
// error for fail. It calls wait, if set, before it returns.
type policies struct {
	decision.Unavailable
	revision atomic.Value
	asked    atomic.Int64
	wait     func(ctx context.Context, r *decision.Request)
	expires  time.Time
}

func newPolicies(revision string) *policies {
	r := &policies{}
	r.revision.Store(revision)
	return r
}

func (v *policies) Loaded() *decision.Loaded {
	return &decision.Loaded{Revision: v.revision.Load().(string)}
}

func (v *policies) Access(ctx context.Context, r *decision.Request) decision.Decision {
	revision := v.Loaded().Revision
	v.asked.Add(1)
	if v.wait != nil {
		v.wait(ctx, r)
	}
	d := decision.Decision{
		Allowed: r.Verb == "get", Denied: r.Verb == "deny", Revision: revision, Expires: v.expires,
		Reason: strings.Join([]string{r.User, r.Verb, r.Name}, " "),
	}
	if !d.Allowed && !d.Denied {
		d.Reason = decision.NoRuleReason(r)
	}
	if r.Verb == "fail" || ctx.Err() != nil {
		d.Allowed, d.Denied, d.EvaluationError = false, true, "failed"
	}
	return d
}

// The fake tells all requests apart and keeps nothing over a change of the revision.
func (v *policies) Key(b []byte, q decision.Question) ([]byte, bool) {
	return projection.NewAccessKeys(nil, nil, nil, nil).AccessKey(b, q.(*decision.Request)), true
}

func ask(user, verb string) *decision.Request {
	return &decision.Request{User: user, Verb: verb, Resource: "pods"}
}

func TestAccess(t *testing.T) {
	for _, tt := range []struct {
		name     string
		options  Options
		requests []*decision.Request
		want     int64 // evaluations
	}{
		{"the same twice", Options{Entries: 10}, []*decision.Request{ask("a", "get"), ask("a", "get")}, 1},
		{"a decision that does not allow", Options{Entries: 10}, []*decision.Request{ask("a", "list"), ask("a", "list")}, 1},
		{"a denial", Options{Entries: 10}, []*decision.Request{ask("a", "deny"), ask("a", "deny")}, 1},
		{"two users", Options{Entries: 10}, []*decision.Request{ask("a", "get"), ask("b", "get"), ask("a", "get"), ask("b", "get")}, 2},
		{"an evaluation error is not kept", Options{Entries: 10}, []*decision.Request{ask("a", "fail"), ask("a", "fail")}, 2},
		{"nothing is kept", Options{}, []*decision.Request{ask("a", "get"), ask("a", "get")}, 2},
		{"room for one", Options{Entries: 1}, []*decision.Request{ask("a", "get"), ask("b", "get"), ask("a", "get")}, 3},
		{"the oldest goes", Options{Entries: 2}, []*decision.Request{ask("a", "get"), ask("b", "get"), ask("a", "get"), ask("c", "get"), ask("a", "get")}, 3},
		{"too large to keep", Options{Entries: 10, Bytes: 64 << 10}, []*decision.Request{ask(strings.Repeat("a", 2000), "get"), ask(strings.Repeat("a", 2000), "get")}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			next := newPolicies("r1")
			c := New(tt.options, metrics.New())
			for _, r := range tt.requests {
				asked := next.asked.Load()
				got := c.Of(next).Access(t.Context(), r)
				if got.Cached != (next.asked.Load() == asked) {
					t.Errorf("got cached %t with %d evaluations", got.Cached, next.asked.Load()-asked)
				}
				got.Cached = false
				if want := newPolicies("r1").Access(t.Context(), r); !reflect.DeepEqual(got, want) {
					t.Errorf("got %+v, want %+v", got, want)
				}
			}
			if got := next.asked.Load(); got != tt.want {
				t.Errorf("got %d evaluations, want %d", got, tt.want)
			}
		})
	}
}

func TestMemoryIsBounded(t *testing.T) {
	const bound = 256 << 10
	next := newPolicies("r1")
	c := New(Options{Entries: 1 << 20, Bytes: bound}, metrics.New())
	for i := range 2000 {
		c.Of(next).Access(t.Context(), &decision.Request{User: "u", Verb: "get", Resource: "pods", Name: fmt.Sprint(i, strings.Repeat("n", i%900))})
		sum := 0
		for _, e := range c.access.kept.Values() {
			sum += e.weight
		}
		if sum != c.access.weight || sum > bound {
			t.Fatalf("got %d bytes of entries, counted as %d, want at most %d", sum, c.access.weight, bound)
		}
	}
	if c.access.kept.Len() < 50 {
		t.Errorf("got only %d entries", c.access.kept.Len())
	}
}

func TestNewRevisionIsEvaluated(t *testing.T) {
	next := newPolicies("r1")
	c := New(Options{Entries: 10}, metrics.New())
	for _, revision := range []string{"r1", "r2", "r1"} {
		next.revision.Store(revision)
		if got := c.Of(next).Access(t.Context(), ask("a", "get")).Revision; got != revision {
			t.Errorf("got an answer of %s, want %s", got, revision)
		}
	}
	if got := next.asked.Load(); got != 3 {
		t.Errorf("got %d evaluations, want 3", got)
	}
}

func TestNoRevision(t *testing.T) {
	next := newPolicies("")
	c := New(Options{Entries: 10}, metrics.New())
	c.Of(next).Access(t.Context(), ask("a", "get"))
	c.Of(next).Access(t.Context(), ask("a", "get"))
	if got := next.asked.Load(); got != 2 {
		t.Errorf("got %d evaluations, want 2", got)
	}
}

func TestExpiry(t *testing.T) {
	start := time.Unix(1000, 0)
	now := start
	next := newPolicies("r1")
	next.expires = start.Add(time.Minute)
	c := New(Options{Entries: 10, Now: func() time.Time { return now }}, metrics.New())
	for _, tt := range []struct {
		after time.Duration
		want  int64
	}{{0, 1}, {time.Minute - 1, 1}, {time.Minute, 2}, {2 * time.Minute, 3}} {
		now = start.Add(tt.after)
		c.Of(next).Access(t.Context(), ask("a", "get"))
		if got := next.asked.Load(); got != tt.want {
			t.Errorf("after %v: got %d evaluations, want %d", tt.after, got, tt.want)
		}
	}
}

func TestEqualRequestsInFlight(t *testing.T) {
	next := newPolicies("r1")
	release := make(chan struct{})
	next.wait = func(context.Context, *decision.Request) { <-release }
	c := New(Options{Entries: 10}, metrics.New())
	var callers sync.WaitGroup
	for range 50 {
		callers.Go(func() {
			if d := c.Of(next).Access(t.Context(), ask("a", "get")); !d.Allowed {
				t.Errorf("got %+v, want allowed", d)
			}
		})
	}
	close(release)
	callers.Wait()
	if got := next.asked.Load(); got != 1 {
		t.Errorf("got %d evaluations, want 1", got)
	}
}

// If the first of two equal requests is cancelled, the other one is evaluated.
func TestCancellationIsNotShared(t *testing.T) {
	next := newPolicies("r1")
	inside := make(chan struct{}, 2)
	next.wait = func(ctx context.Context, _ *decision.Request) {
		inside <- struct{}{}
		if ctx.Value(patient{}) == nil {
			<-ctx.Done()
		}
	}
	c := New(Options{Entries: 10}, metrics.New())
	hurried, cancel := context.WithCancel(t.Context())
	var callers sync.WaitGroup
	callers.Go(func() {
		if d := c.Of(next).Access(hurried, ask("a", "get")); d.EvaluationError == "" || !d.Denied {
			t.Errorf("the cancelled caller got %+v, want an evaluation error", d)
		}
	})
	<-inside
	callers.Go(func() {
		if d := c.Of(next).Access(context.WithValue(t.Context(), patient{}, true), ask("a", "get")); !d.Allowed || d.EvaluationError != "" {
			t.Errorf("the other got %+v, want allowed", d)
		}
	})
	cancel()
	callers.Wait()
}

type patient struct{}

// A caller that waits for the evaluation of another one keeps its own deadline.
func TestWaitingEndsAtDeadline(t *testing.T) {
	next := newPolicies("r1")
	inside, release := make(chan struct{}), make(chan struct{})
	next.wait = func(context.Context, *decision.Request) { close(inside); <-release }
	c := New(Options{Entries: 10}, metrics.New())
	var callers sync.WaitGroup
	callers.Go(func() { c.Of(next).Access(t.Context(), ask("a", "get")) })
	<-inside
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if d := c.Of(next).Access(over, ask("a", "get")); d.EvaluationError == "" || !d.Denied || d.Allowed || d.Revision != "r1" {
		t.Errorf("got %+v, want an evaluation error", d)
	}
	close(release)
	callers.Wait()
}

// A panic affects the caller that evaluates; waiting callers evaluate again.
func TestPanicReleasesWaitingCallers(t *testing.T) {
	next := newPolicies("r1")
	inside, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	next.wait = func(context.Context, *decision.Request) {
		first := false
		once.Do(func() { first = true })
		if first {
			close(inside)
			<-release
			panic("a bug")
		}
	}
	c := New(Options{Entries: 10}, metrics.New())
	var callers sync.WaitGroup
	callers.Go(func() {
		defer func() {
			if recover() == nil {
				t.Error("got no panic, want one")
			}
		}()
		c.Of(next).Access(t.Context(), ask("a", "get"))
	})
	<-inside
	callers.Go(func() {
		if d := c.Of(next).Access(t.Context(), ask("a", "get")); !d.Allowed {
			t.Errorf("got %+v, want allowed", d)
		}
	})
	close(release)
	callers.Wait()
}

func TestCounters(t *testing.T) {
	m := metrics.New()
	next := newPolicies("r1")
	c := New(Options{Entries: 2}, m)
	for _, user := range []string{"a", "a", "b", "c", "c", "c"} {
		c.Of(next).Access(t.Context(), ask(user, "get"))
	}
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, want := range []string{"writ_cache_hits_total 3", "writ_cache_misses_total 3", "writ_cache_evictions_total 1", "writ_cache_entries 2"} {
		if !strings.Contains(w.Body.String(), want+"\n") {
			t.Errorf("got no line %q", want)
		}
	}
}

// With many callers, few requests and changing revisions, every answer is correct.
func TestConcurrently(t *testing.T) {
	next := newPolicies("r0")
	c := New(Options{Entries: 8}, metrics.New())
	var callers sync.WaitGroup
	for caller := range 8 {
		callers.Go(func() {
			for i := range 2000 {
				r := ask(fmt.Sprint(i%13), []string{"get", "list", "fail"}[i%3])
				d := c.Of(next).Access(t.Context(), r)
				if d.Allowed != (r.Verb == "get") || d.Allowed && d.Reason != r.User+" "+r.Verb+" " {
					t.Errorf("got %+v for %+v", d, r)
				}
				if caller == 0 && i%100 == 0 {
					next.revision.Store(fmt.Sprint("r", i/100))
				}
			}
		})
	}
	callers.Wait()
}

func BenchmarkHit(b *testing.B) {
	next := newPolicies(strings.Repeat("r", 64))
	c := New(Options{Entries: 1000}, metrics.New())
	r := &decision.Request{
		User: "system:serviceaccount:hammer:bot", Groups: []string{"system:serviceaccounts", "system:authenticated"},
		Verb: "get", Resource: "pods", Namespace: "hammer", Name: "web-0", Cluster: "prod",
		Attributes: map[string]any{"version": "v1", "uid": "1234"},
	}
	b.ReportAllocs()
	for b.Loop() {
		if !c.Of(next).Access(b.Context(), r).Denied {
			continue
		}
	}
}

// A look-up copies neither the key nor the decision.
func TestLookUpAllocatesNothing(t *testing.T) {
	table := newTable[decision.Decision](metrics.New(), time.Now, 10, 1<<20, func(int) {})
	key := []byte(strings.Repeat("k", 300))
	table.keep(string(key), answer[decision.Decision]{revision: "r", bytes: 100})
	if got := testing.AllocsPerRun(100, func() {
		if table.find(key, time.Now) == nil {
			t.Error("the answer is not found")
		}
	}); got != 0 {
		t.Errorf("a look-up allocates %v times", got)
	}
}

// The entry that was used least is evicted first, apart from the order of the last uses.
func TestOrderOfUse(t *testing.T) {
	const entries = 160
	c := newTable[decision.Decision](metrics.New(), time.Now, entries, 1<<20, func(int) {})
	name := func(i int) string { return fmt.Sprint("key-", i) }
	for i := range entries {
		c.keep(name(i), answer[decision.Decision]{bytes: 1})
	}
	for range 3 { // each of the older half is used
		for i := range entries / 2 {
			if c.find([]byte(name(i)), time.Now) == nil {
				t.Fatalf("entry %d is gone", i)
			}
		}
	}
	for i := range entries / 2 {
		c.keep(name(entries+i), answer[decision.Decision]{bytes: 1})
	}
	for i := range entries {
		if got, want := c.find([]byte(name(i)), time.Now) != nil, i < entries/2; got != want {
			t.Errorf("entry %d: kept %t, want %t", i, got, want)
		}
	}
}
