// Package cache caches decisions. Cache.Of returns the Policies of a revision with their
// decisions cached, so that what asks them knows of no cache. The package does not read
// documents and does not decide.
//
// # Design
//
// The key is the projection of the request: requests that the documents cannot tell apart
// share an entry. Text that repeats values of the request is written after the look-up.
// A new revision needs no purge: an entry has the revision of its decision, and when it is
// found at a later one, the Policies report whether anything that decides the request has
// changed since. The alternative, to compare all entries at a reload, would hold up
// requests. Entries are bounded by number and by memory, because clients choose the size
// of requests.
//
// Requests with equal keys in flight are evaluated once, by the first caller on its own
// goroutine; if that caller is cancelled, one of the others evaluates again. The
// alternative, a goroutine without a deadline, would evaluate for callers that have left.
//
// At the visibility point the same authorization applies to many lists of items, so
// authorizations are cached, and items and numbers are not.
package cache

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

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
	count   atomic.Int64 // number of entries of all points

	access         *table[decision.Decision]
	gateway        *table[guarded]
	generic        *table[genericAnswer]
	values         *table[keptValue]
	authorizations *table[authorized]
	ttl            time.Duration // of authorizations
	log            *slog.Logger  // of authorizations; nil without one
}

// cached is the Policies of one revision with a cache.
type cached struct {
	decision.Policies
	cache *Cache
	clock func() time.Time // of decisions
}

// Of returns policies that answer like p, from the cache where it can.
func (c *Cache) Of(p decision.Policies) decision.Policies { return &cached{p, c, c.now} }

// AtNow implements decision.Policies.
func (v *cached) AtNow() decision.Policies {
	now := v.Now()
	return &cached{v.At(now), v.cache, func() time.Time { return now }}
}

// keyRooms holds room for keys between requests. Larger keys than maxRoom are rare, and
// their room is not kept.
var keyRooms = sync.Pool{New: func() any {
	room := make([]byte, 0, 512)
	return &room
}}

const maxRoom = 8 << 10

// keyOf is Key with room from keyRooms, which the caller puts back when it has used the key.
func keyOf(p decision.Policies, q decision.Question) (key []byte, room *[]byte, ok bool) {
	room = keyRooms.Get().(*[]byte)
	if key, ok = p.Key((*room)[:0], q); cap(key) <= maxRoom {
		*room = key
	}
	return key, room, ok
}

// New returns an empty cache.
func New(o Options, m *metrics.Metrics) *Cache {
	c := &Cache{metrics: m, now: o.Now, ttl: cmp.Or(max(o.Visibility.TTL, 0), DefaultTTL), log: o.Visibility.Logger}
	if c.now == nil {
		c.now = time.Now
	}
	c.access = newTable[decision.Decision](m, c.now, o.Entries, cmp.Or(max(o.Bytes, 0), DefaultBytes), c.recordCount)
	// The gateway point, all generic points together, and filters have a quarter of the memory
	// and of the entries.
	entries, bytes := o.Entries/4, max(cmp.Or(max(o.Bytes, 0), DefaultBytes)/4, 1)
	c.gateway = newTable[guarded](m, c.now, entries, bytes, c.recordCount)
	c.generic = newTable[genericAnswer](m, c.now, entries, bytes, c.recordCount)
	c.values = newTable[keptValue](m, c.now, entries, bytes, c.recordCount)
	c.authorizations = newTable[authorized](m, c.now, o.Visibility.Entries, cmp.Or(max(o.Visibility.Bytes, 0), defaultVisibilityBytes), c.recordCount)
	c.authorizations.namesOf = func(d authorized) []string { return d.of.Names() }
	return c
}

// recordCount records a change of the number of entries in the metrics.
func (c *Cache) recordCount(change int) { c.metrics.CacheHolds(int(c.count.Add(int64(change)))) }

// Access returns the cached decision, or a new one. A decision with an evaluation error is
// never cached.
func (v *cached) Access(ctx context.Context, r *decision.Request) decision.Decision {
	c, p, revision := v.cache, v.Policies, v.Loaded().Revision
	if revision == "" {
		return p.Access(ctx, r)
	}
	key, room, ok := keyOf(p, r)
	defer keyRooms.Put(room)
	if !ok {
		return p.Access(ctx, r)
	}
	if a := c.access.find(key, v.clock); a != nil {
		if a.revision == revision {
			c.metrics.CacheHit()
			return found(&a.decision, r)
		}
		if d := a.decision; p.Keeps(r, &d, key) {
			c.access.keepOver(key, *a, revision, d)
			return found(&d, r)
		}
	}
	a, err := c.access.evaluate(ctx, flightKey{revision, string(key)}, v.clock, func() answer[decision.Decision] {
		return accessAnswer(p.Access(ctx, r))
	})
	if err != nil {
		d := decision.Decision{}.Failed(decision.CheckContext(ctx).Error())
		d.Revision = revision
		return d
	}
	return a.decision.For(r)
}

// found returns a kept decision as the answer to r.
func found(kept *decision.Decision, r *decision.Request) decision.Decision {
	d := kept.For(r)
	d.Cached = true
	return d
}

func accessAnswer(d decision.Decision) answer[decision.Decision] {
	a := answer[decision.Decision]{decision: d, revision: d.Revision, expires: d.Expires, span: d.Span}
	if d.EvaluationError == "" {
		a.bytes = weigh(&d)
	}
	return a
}

// weigh estimates how many bytes a decision keeps alive. It counts strings that decisions
// share with the engine as well: an estimate that is too high is safe.
func weigh(d *decision.Decision) int {
	const aDecision, aMatch, aVia = 200, 240, 80
	weight := aDecision + len(d.Reason) + len(d.Sufficient)
	for _, warning := range d.Warnings {
		weight += len(warning) + 16
	}
	for i := range d.Matched {
		m := &d.Matched[i]
		weight += aMatch + len(m.Namespace) + len(m.Name) + len(m.Source) + len(m.Until)
		for _, via := range m.Via {
			weight += aVia + len(via.Namespace) + len(via.Name) + len(via.Until)
		}
		if m.Role != nil {
			weight += len(m.Role.Namespace) + len(m.Role.Name)
		}
	}
	return weight
}
