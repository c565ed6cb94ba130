// Package cache answers requests that were answered before. It is a Reviewer
// around a Reviewer: requests come in as the doors made them, decisions go out
// as the one behind it gave them. It knows no document and decides nothing.
//
// # Design
//
// The key is the revision and the whole canonical request, so nothing has to be
// emptied when a revision is swapped: an entry of another revision is not found.
// What is kept is bounded by number and by memory, since a caller chooses how
// large requests are. Equal requests in flight are evaluated once, by the first
// of them and on its own goroutine; should that caller give up, one of the others
// evaluates again. The alternative, evaluating on a goroutine of its own under
// nobody's deadline, goes on working for callers that have left.
//
// At the visibility point there is much to show for few questions, so what is kept
// are authorizations and no items or numbers; and principals are many, so an
// authorization outlives the revision that gave it, until a policy of its principal
// is another (visibility_kept.go).
package cache

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/metrics"
)

// Reviewer is what a Cache stands before. Revision is the revision the next
// request will be answered by; empty where there is none yet.
type Reviewer interface {
	decision.Reviewer
	Revision() string
}

// Options bound what is kept. The zero value keeps nothing.
type Options struct {
	// Entries is how many decisions are kept; zero or less keeps none, and
	// equal requests in flight are still evaluated once.
	Entries int
	// Bytes is about how much memory they may take; zero means DefaultBytes.
	Bytes int
	// Now is the clock for decisions that expire; nil means time.Now.
	Now func() time.Time
	// Visibility bounds what is kept of the visibility point.
	Visibility VisibilityOptions
}

// Bounds of the server unless it is configured otherwise.
const (
	DefaultEntries = 100_000
	DefaultBytes   = 256 << 20
)

// Cache is a decision.Reviewer that keeps decisions. It is safe for concurrent
// use. Callers of one cached decision share its lists: they must not write them.
type Cache struct {
	next    Reviewer
	metrics *metrics.Metrics
	now     func() time.Time
	bytes   int

	mu      sync.Mutex // held to look up and to keep, never while evaluating
	kept    *simplelru.LRU[string, *entry]
	weight  int // of all that is kept
	flights map[string]*flight

	decisions atomic.Int64 // how many are kept
	views     *views       // nil where nothing of the visibility point is kept
}

var (
	_ Reviewer        = (*Cache)(nil)
	_ decision.Wanter = (*Cache)(nil)
)

type entry struct {
	decision decision.Decision
	weight   int
}

// flight is one evaluation that others wait for. Its fields are written before
// done is closed and read after.
type flight struct {
	done     chan struct{}
	decision decision.Decision
	// whole is false where the decision says more about who asked first than
	// about the request: its caller gave up, or its evaluation panicked.
	whole bool
}

// New is a cache before next.
func New(next Reviewer, o Options, m *metrics.Metrics) *Cache {
	c := &Cache{next: next, metrics: m, now: o.Now, bytes: o.Bytes, flights: map[string]*flight{}}
	if c.now == nil {
		c.now = time.Now
	}
	if c.bytes <= 0 {
		c.bytes = DefaultBytes
	}
	if o.Entries > 0 {
		// The size is positive, the one thing NewLRU can object to.
		c.kept, _ = simplelru.NewLRU[string, *entry](o.Entries, c.dropped)
	}
	c.views = newViews(c, o.Visibility)
	return c
}

// Revision is that of the Reviewer behind.
func (c *Cache) Revision() string { return c.next.Revision() }

// WhoCan is not cached: it is asked by people, and rarely.
func (c *Cache) WhoCan(ctx context.Context, r *decision.Request) decision.WhoCan {
	return c.next.WhoCan(ctx, r)
}

// Wants asks the Reviewer behind, where that can tell. Nothing of it is kept.
func (c *Cache) Wants(ctx context.Context, r *decision.Request) (decision.Wants, error) {
	if wanter, ok := c.next.(decision.Wanter); ok {
		return wanter.Wants(ctx, r)
	}
	return decision.Wants{}, nil
}

// Evaluate answers from what is kept, or asks the Reviewer behind. Trouble is
// never kept.
func (c *Cache) Evaluate(ctx context.Context, r *decision.Request) decision.Decision {
	revision := c.next.Revision()
	if revision == "" {
		return c.next.Evaluate(ctx, r)
	}
	key := keyOf(revision, r)
	for {
		kept, f, first := c.join(key)
		switch {
		case f == nil:
			c.metrics.CacheHit()
			return kept
		case first:
			c.metrics.CacheMissed()
			return c.lead(ctx, key, revision, r, f)
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return gaveUp(ctx, revision)
		}
		if f.whole {
			c.metrics.CacheHit()
			return f.decision
		}
	}
}

// join finds the decision that is kept under key. Where there is none, it finds
// the flight that will bring one, or begins it: then first is true.
func (c *Cache) join(key string) (kept decision.Decision, f *flight, first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept != nil {
		if e, ok := c.kept.Get(key); ok {
			if c.holds(&e.decision) {
				return e.decision, nil, false
			}
			c.kept.Remove(key)
		}
	}
	if f, ok := c.flights[key]; ok {
		return kept, f, false
	}
	f = &flight{done: make(chan struct{})}
	c.flights[key] = f
	return kept, f, true
}

// lead evaluates for everyone who waits for f. However it ends, they go on.
func (c *Cache) lead(ctx context.Context, key, revision string, r *decision.Request, f *flight) decision.Decision {
	defer c.land(key, revision, f)
	f.decision = c.next.Evaluate(ctx, r)
	f.whole = ctx.Err() == nil || f.decision.Trouble == ""
	return f.decision
}

func (c *Cache) land(key, revision string, f *flight) {
	c.mu.Lock()
	delete(c.flights, key)
	// A revision swapped in between answered for its own key, not for this one.
	if f.whole && f.decision.Trouble == "" && f.decision.Revision == revision {
		c.keep(key, f.decision)
	}
	c.mu.Unlock()
	close(f.done)
}

// holds reports whether d may be answered now.
func (c *Cache) holds(d *decision.Decision) bool {
	return d.Expires.IsZero() || c.now().Before(d.Expires)
}

// keep is called with mu held.
func (c *Cache) keep(key string, d decision.Decision) {
	e := &entry{d, weigh(key, &d)}
	// One decision may not push out all the others.
	if c.kept == nil || e.weight > c.bytes/64 || !c.holds(&d) {
		return
	}
	c.kept.Remove(key)
	c.weight += e.weight
	if c.kept.Add(key, e) {
		c.metrics.CacheEvicted()
	}
	for c.weight > c.bytes {
		c.kept.RemoveOldest()
		c.metrics.CacheEvicted()
	}
	c.decisions.Store(int64(c.kept.Len()))
	c.counted()
}

// counted tells how much is kept, of either kind.
func (c *Cache) counted() {
	kept := c.decisions.Load()
	if c.views != nil {
		kept += c.views.count.Load()
	}
	c.metrics.CacheHolds(int(kept))
}

// dropped is called by the list, with mu held, for whatever leaves it.
func (c *Cache) dropped(_ string, e *entry) { c.weight -= e.weight }

// gaveUp is the answer to a caller whose time ran out while another's equal
// request was being evaluated.
func gaveUp(ctx context.Context, revision string) decision.Decision {
	trouble := "evaluation was cancelled"
	if ctx.Err() == context.DeadlineExceeded {
		trouble = "evaluation took too long"
	}
	return decision.Decision{
		Denied: true, Reason: "denied: trouble while evaluating: " + trouble, Trouble: trouble, Revision: revision,
	}
}
