// Package cache keeps decisions of Policies. Requests come in as adapters made them,
// with the Policies that answer; decisions go out as those gave them. It knows no
// document and decides nothing.
//
// Not part of the promised API; see package writ.
//
// # Design
//
// The key is the revision and the whole canonical request, so that a new revision
// needs no purge: an entry of another revision is not found. Entries are bounded by
// number and by memory, since a caller chooses how large requests are. Equal requests
// in flight are evaluated once, by the first of them and on its own goroutine; if that
// caller gives up, one of the others evaluates again. The alternative, evaluating on
// a goroutine without a deadline, goes on working for callers that have left.
//
// At the visibility point few authorizations serve many lists of items, so
// authorizations are kept, and items and numbers are not. Principals are many, so an
// authorization outlives its revision until a policy of its principal changes
// (authorizations.go).
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

// Cache keeps decisions. It is safe for concurrent use. Callers of one cached
// decision share its lists and must not write them.
type Cache struct {
	metrics *metrics.Metrics
	now     func() time.Time
	bytes   int

	mu      sync.Mutex // held to look up and to keep, never while evaluating
	kept    *simplelru.LRU[string, *entry]
	weight  int // of all that is kept
	flights map[string]*flight

	decisions      atomic.Int64        // how many are kept
	authorizations *authorizationCache // nil if authorizations are not kept
}

type entry struct {
	decision decision.Decision
	weight   int
}

// flight is one evaluation that others wait for. Its fields are written before
// done is closed and read after.
type flight struct {
	done     chan struct{}
	decision decision.Decision
	// shared is false if the decision depends on the first caller rather than on the
	// request: that caller gave up, or its evaluation panicked.
	shared bool
}

// New returns an empty cache.
func New(o Options, m *metrics.Metrics) *Cache {
	c := &Cache{metrics: m, now: o.Now, bytes: o.Bytes, flights: map[string]*flight{}}
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
	c.authorizations = newAuthorizationCache(c, o.Visibility)
	return c
}

// Access returns the kept decision, or asks p. A decision with an evaluation error is
// never kept.
func (c *Cache) Access(ctx context.Context, p decision.Policies, r *decision.Request) decision.Decision {
	revision := p.Revision()
	if revision == "" {
		return p.Access(ctx, r)
	}
	key := r.Key(revision)
	for {
		kept, f, first := c.join(key)
		switch {
		case f == nil:
			c.metrics.CacheHit()
			return kept
		case first:
			c.metrics.CacheMissed()
			return c.lead(ctx, key, p, r, f)
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			d := decision.Decision{}.Failed(decision.CheckContext(ctx).Error())
			d.Revision = revision
			return d
		}
		if f.shared {
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
			if c.isValid(&e.decision) {
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

// lead evaluates for all callers that wait for f. They continue even after a panic.
func (c *Cache) lead(ctx context.Context, key string, p decision.Policies, r *decision.Request, f *flight) decision.Decision {
	defer c.land(key, f)
	f.decision = p.Access(ctx, r)
	f.shared = ctx.Err() == nil || f.decision.EvaluationError == ""
	return f.decision
}

// land ends a flight and keeps its decision.
func (c *Cache) land(key string, f *flight) {
	c.mu.Lock()
	delete(c.flights, key)
	if f.shared && f.decision.EvaluationError == "" {
		c.keep(key, f.decision)
	}
	c.mu.Unlock()
	close(f.done)
}

// isValid reports whether d has not expired.
func (c *Cache) isValid(d *decision.Decision) bool {
	return d.Expires.IsZero() || c.now().Before(d.Expires)
}

// keep is called with mu held.
func (c *Cache) keep(key string, d decision.Decision) {
	e := &entry{d, weigh(key, &d)}
	// One decision may not push out all the others.
	if c.kept == nil || e.weight > c.bytes/64 || !c.isValid(&d) {
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

// counted records how many entries of both kinds are kept.
func (c *Cache) counted() {
	kept := c.decisions.Load()
	if c.authorizations != nil {
		kept += c.authorizations.count.Load()
	}
	c.metrics.CacheHolds(int(kept))
}

// dropped is called by the list, with mu held, for each entry that leaves it.
func (c *Cache) dropped(_ string, e *entry) { c.weight -= e.weight }

// weigh estimates how many bytes an entry keeps alive. Strings that decisions share with
// the engine are counted as if they were not: too much is safe.
func weigh(key string, d *decision.Decision) int {
	const anEntry, aMatch = 400, 220
	weight := anEntry + len(key) + len(d.Reason)
	for _, warning := range d.Warnings {
		weight += len(warning) + 16
	}
	for i := range d.Matched {
		m := &d.Matched[i]
		weight += aMatch + len(m.Namespace) + len(m.Name) + len(m.Source)
		if m.Role != nil {
			weight += len(m.Role.Namespace) + len(m.Role.Name)
		}
	}
	return weight
}
