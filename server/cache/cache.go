// Package cache caches decisions. Callers pass a request with the Policies that decide
// it, and get the decision of those Policies, cached or new. The package does not read
// documents and does not decide.
//
// Not part of the promised API; see package writ.
//
// # Design
//
// The key is the revision and the whole canonical request, so that a new revision
// needs no purge: an entry of another revision is not found. Entries are bounded by
// number and by memory, because clients choose the size of requests. Equal requests in
// flight are evaluated once, by the first caller on its own goroutine; if that caller is
// cancelled, one of the others evaluates again. The alternative, a goroutine without a
// deadline, would evaluate for callers that have left.
//
// At the visibility point the same authorization applies to many lists of items, so
// authorizations are cached, and items and numbers are not. There are many principals,
// so an authorization remains valid in later revisions until a policy of its principal
// changes (authorizations.go).
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

// Options bound the cache. The zero value caches nothing.
type Options struct {
	// Entries is the maximum number of decisions. With zero or less no decision is
	// cached; equal requests in flight are still evaluated once.
	Entries int
	// Bytes is the approximate memory limit for decisions; zero means DefaultBytes.
	Bytes int
	// Now is the clock for decisions that expire; nil means time.Now.
	Now func() time.Time
	// Visibility bounds the authorizations of the visibility point.
	Visibility VisibilityOptions
}

// Defaults of the server.
const (
	DefaultEntries = 100_000
	DefaultBytes   = 256 << 20
)

// Cache caches decisions. It is safe for concurrent use. Callers share the lists of a
// cached decision and must not modify them.
type Cache struct {
	metrics *metrics.Metrics
	now     func() time.Time
	bytes   int

	mu      sync.Mutex // held to read and write the fields below, never while evaluating
	kept    *simplelru.LRU[string, *entry]
	weight  int // estimated bytes of all entries
	flights map[string]*flight

	decisions      atomic.Int64        // number of cached decisions
	authorizations *authorizationCache // nil if authorizations are not cached
}

type entry struct {
	decision decision.Decision
	weight   int
}

// flight is an evaluation that other callers wait for. Its fields are written before
// done is closed, and read afterwards.
type flight struct {
	done     chan struct{}
	decision decision.Decision
	// shared is false if the decision depends on the first caller rather than on the
	// request: that caller was cancelled, or its evaluation panicked.
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
		// NewLRU fails only for a size that is not positive.
		c.kept, _ = simplelru.NewLRU[string, *entry](o.Entries, c.evicted)
	}
	c.authorizations = newAuthorizationCache(c, o.Visibility)
	return c
}

// Access returns the cached decision, or the decision of p. A decision with an
// evaluation error is never cached.
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

// join returns the cached decision for key. If there is none, it returns the flight
// for key; first is true if join has created the flight.
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

// lead evaluates for all callers that wait for f, and releases them even if the
// evaluation panics.
func (c *Cache) lead(ctx context.Context, key string, p decision.Policies, r *decision.Request, f *flight) decision.Decision {
	defer c.land(key, f)
	f.decision = p.Access(ctx, r)
	f.shared = ctx.Err() == nil || f.decision.EvaluationError == ""
	return f.decision
}

// land ends a flight and caches its decision.
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

// keep caches a decision. It is called with mu held.
func (c *Cache) keep(key string, d decision.Decision) {
	e := &entry{d, weigh(key, &d)}
	// A single large decision must not evict all others.
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
	c.recordCount()
}

// recordCount records the number of decisions and authorizations in the metrics.
func (c *Cache) recordCount() {
	kept := c.decisions.Load()
	if c.authorizations != nil {
		kept += c.authorizations.count.Load()
	}
	c.metrics.CacheHolds(int(kept))
}

// evicted is called by the list, with mu held, for each entry that it removes.
func (c *Cache) evicted(_ string, e *entry) { c.weight -= e.weight }

// weigh estimates how many bytes an entry keeps alive. It counts strings that decisions
// share with the engine as well: an estimate that is too high is safe.
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
