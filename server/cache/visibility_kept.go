package cache

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/writ-policy/writ/server/decision"
)

// views are the authorizations that are kept, all of them good at the revision of
// grounds: when that changes, those go whose principal is named by a policy that is
// another, and those of a type whose source is another. The rest is renewed when it
// is asked for.
type views struct {
	cache *Cache
	next  decision.Renewer
	ttl   time.Duration
	bytes int
	log   *slog.Logger
	count atomic.Int64 // of kept

	mu      sync.Mutex // held to look up and to keep, never while evaluating
	kept    *simplelru.LRU[string, *view]
	weight  int               // of all that is kept
	grounds *decision.Grounds // nil before the first revision
}

// view is one authorization and for whom it is. Between from and until, the latter
// left out, it is what the Reviewer behind would answer.
type view struct {
	authorization decision.Authorization
	names, groups []string
	typ           string
	shown         string
	from, until   time.Time
	weight        int
}

// newViews is nil where nothing is to be kept, or where the Reviewer behind cannot
// tell what its authorizations rest on.
func newViews(c *Cache, o VisibilityOptions) *views {
	next, ok := c.next.(decision.Renewer)
	if !ok || o.Entries <= 0 {
		return nil
	}
	v := &views{cache: c, next: next, ttl: o.TTL, bytes: o.Bytes, log: o.Logger}
	if v.ttl <= 0 {
		v.ttl = DefaultTTL
	}
	if v.bytes <= 0 {
		v.bytes = DefaultVisibilityBytes
	}
	if v.log == nil {
		v.log = slog.New(slog.DiscardHandler)
	}
	// The size is positive, the one thing NewLRU can object to.
	v.kept, _ = simplelru.NewLRU(o.Entries, func(_ string, e *view) { v.weight -= e.weight })
	return v
}

// now is by the clock on the wall, as the times in policies are, and not by one
// that a step of the clock does not move.
func (v *views) now() time.Time { return v.cache.now().Round(0) }

func (v *views) authorize(ctx context.Context, r *decision.VisibilityRequest) decision.Authorization {
	key := viewKey(r)
	v.prepare()
	if a, ok := v.find(key); ok {
		v.cache.metrics.CacheHit()
		return a
	}
	v.cache.metrics.CacheMissed()
	began := v.now()
	a := v.next.Authorize(ctx, r)
	v.keep(key, r, &a, began)
	return a
}

// prepare has grounds made that will be needed, which for many policies takes a
// while, when nobody waits for the lock.
func (v *views) prepare() {
	v.mu.Lock()
	behind := v.behind()
	v.mu.Unlock()
	if behind {
		v.next.Grounds()
	}
}

// behind reports whether grounds are of another revision than the current one. It
// is called with mu held.
func (v *views) behind() bool { return v.grounds == nil || v.grounds.Revision != v.next.Revision() }

func (v *views) find(key string) (a decision.Authorization, found bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.follow()
	e, ok := v.kept.Get(key)
	if !ok {
		return a, false
	}
	if !e.holds(v.now()) || !v.renew(e) {
		v.kept.Remove(key)
		return a, false
	}
	return e.authorization, true
}

func (e *view) holds(now time.Time) bool { return !now.Before(e.from) && now.Before(e.until) }

// renew makes the authorization one of the current revision. It is called with mu
// held, after follow.
func (v *views) renew(e *view) bool {
	if e.authorization.Revision == v.grounds.Revision {
		return true
	}
	a, ok := v.next.Renew(e.authorization)
	// A revision that was swapped in meanwhile may have renewed what it should not.
	if !ok || a.Revision != v.grounds.Revision {
		return false
	}
	e.authorization = a
	return true
}

func (v *views) keep(key string, r *decision.VisibilityRequest, a *decision.Authorization, began time.Time) {
	if a.Trouble != "" {
		return
	}
	e := &view{authorization: *a, names: r.Names(), groups: groupSet(r), typ: r.Type, shown: shownKey(r), until: began.Add(v.ttl)}
	if !a.Expires.IsZero() && a.Expires.Before(e.until) {
		e.until = a.Expires
	}
	e.weight = weighView(key, e)
	v.mu.Lock()
	defer v.mu.Unlock()
	// What the answer was before it was given is not known, should the clock be
	// set back.
	e.from = v.now()
	if v.grounds == nil || v.grounds.Revision != a.Revision || e.from.Before(began) || !e.holds(e.from) {
		return
	}
	// One authorization may not push out all the others.
	if e.weight > v.bytes/64 {
		return
	}
	v.kept.Remove(key)
	v.weight += e.weight
	if v.kept.Add(key, e) {
		v.cache.metrics.CacheEvicted()
	}
	for v.weight > v.bytes {
		v.kept.RemoveOldest()
		v.cache.metrics.CacheEvicted()
	}
	v.counted()
}

// counted is called with mu held.
func (v *views) counted() {
	v.count.Store(int64(v.kept.Len()))
	v.cache.counted()
}

// follow brings grounds to the current revision and drops what does not outlive
// the one before. It is called with mu held.
func (v *views) follow() {
	if !v.behind() {
		return
	}
	now := v.next.Grounds()
	if v.grounds == nil || now == nil {
		v.kept.Purge()
	} else if c := changes(v.grounds, now); c.any() {
		v.drop("documents changed", c.concern)
	}
	v.grounds = now
	v.counted()
}

// forget drops what is kept for a user and says how much of it was still good.
func (v *views) forget(user string) int {
	v.prepare()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.follow()
	now := v.now()
	good := 0
	v.drop("the principal asked for it", func(e *view) bool {
		if !slices.Contains(e.names, user) {
			return false
		}
		if e.holds(now) {
			good++
		}
		return true
	})
	v.counted()
	return good
}

// drop is called with mu held.
func (v *views) drop(why string, which func(*view) bool) {
	for _, key := range v.kept.Keys() {
		if e, ok := v.kept.Peek(key); ok && which(e) {
			v.kept.Remove(key)
			v.log.Debug("an authorization is no longer kept", "key", e.shown, "because", why)
		}
	}
}
