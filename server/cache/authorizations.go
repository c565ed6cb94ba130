package cache

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/writ-policy/writ/server/decision"
)

// authorizationCache caches authorizations. All entries are valid at the revision of
// fingerprints. When the revision changes, the cache drops entries whose principal a
// changed policy names and entries of a type whose metric source changed. The others are
// revalidated at their next use.
type authorizationCache struct {
	cache *Cache
	ttl   time.Duration
	bytes int
	log   *slog.Logger

	mu           sync.Mutex // held to read and write the fields below, never while evaluating
	kept         *simplelru.LRU[string, *cachedAuthorization]
	count        int                    // number of entries that were recorded
	weight       int                    // estimated bytes of all entries
	fingerprints *decision.Fingerprints // nil before the first revision
}

// cachedAuthorization is an authorization with its principal. It is valid from the
// instant from, and before the instant until.
type cachedAuthorization struct {
	authorization decision.Authorization
	names, groups []string
	typ           string
	shown         string
	from, until   time.Time
	weight        int
}

// newAuthorizationCache returns nil if o does not enable the cache.
func newAuthorizationCache(c *Cache, o VisibilityOptions) *authorizationCache {
	if o.Entries <= 0 {
		return nil
	}
	v := &authorizationCache{cache: c, ttl: o.TTL, bytes: o.Bytes, log: o.Logger}
	v.ttl = cmp.Or(max(v.ttl, 0), DefaultTTL)
	v.bytes = cmp.Or(max(v.bytes, 0), defaultVisibilityBytes)
	if v.log == nil {
		v.log = slog.New(slog.DiscardHandler)
	}
	// NewLRU fails only for a size that is not positive.
	v.kept, _ = simplelru.NewLRU(o.Entries, func(_ string, e *cachedAuthorization) { v.weight -= e.weight })
	return v
}

// now strips the monotonic clock reading, so that clock adjustments affect cached
// entries as they affect policies.
func (v *authorizationCache) now() time.Time { return v.cache.now().Round(0) }

// authorize returns the authorization that is kept for a request, or else that of p, which
// it keeps.
func (v *authorizationCache) authorize(ctx context.Context, p decision.Policies, r *decision.VisibilityRequest) decision.Authorization {
	room := keyRooms.Get().(*[]byte)
	defer keyRooms.Put(room)
	b, ok := p.Key((*room)[:0], r)
	if !ok {
		return p.Visibility(ctx, r)
	}
	key := string(b)
	v.prepare(p)
	if a, ok := v.find(key, p); ok {
		v.cache.metrics.CacheHit()
		a.Cached = true
		return a
	}
	v.cache.metrics.CacheMissed()
	began := v.now()
	a := p.Visibility(ctx, r)
	v.keep(key, r, &a, began)
	return a
}

// prepare computes the fingerprints that moveTo needs without holding mu, because that
// is slow for many policies.
func (v *authorizationCache) prepare(p decision.Policies) {
	v.mu.Lock()
	needed := !v.isAt(p)
	v.mu.Unlock()
	if needed {
		p.Fingerprints()
	}
}

// isAt reports whether the entries are valid at the revision of p. It is called with
// mu held.
func (v *authorizationCache) isAt(p decision.Policies) bool {
	return v.fingerprints != nil && v.fingerprints.Revision == p.Revision()
}

func (v *authorizationCache) find(key string, p decision.Policies) (a decision.Authorization, found bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.moveTo(p)
	e, ok := v.kept.Get(key)
	if !ok {
		return a, false
	}
	if !e.isValid(v.now()) || !e.revalidate(p) {
		v.kept.Remove(key)
		return a, false
	}
	return e.authorization, true
}

func (e *cachedAuthorization) isValid(now time.Time) bool {
	return !now.Before(e.from) && now.Before(e.until)
}

// revalidate converts the authorization to the revision of p. It is called with mu
// held, after moveTo.
func (e *cachedAuthorization) revalidate(p decision.Policies) (ok bool) {
	if e.authorization.Revision == p.Revision() {
		return true
	}
	e.authorization, ok = p.Revalidate(e.authorization)
	e.authorization.Encode()
	return ok
}

// keep adds an authorization that was decided from an instant on, unless it is an error, has
// expired, is of another revision than the entries, or is too large. Encoded once, it is written
// as it is to all who get it.
func (v *authorizationCache) keep(key string, r *decision.VisibilityRequest, a *decision.Authorization, began time.Time) {
	if a.EvaluationError != "" {
		return
	}
	a.Encode()
	e := &cachedAuthorization{authorization: *a, names: r.Names(), groups: r.GroupSet(), typ: r.Type, shown: shownKey(r), until: began.Add(v.ttl)}
	if !a.Expires.IsZero() && a.Expires.Before(e.until) {
		e.until = a.Expires
	}
	e.weight = weighAuthorization(key, e)
	v.mu.Lock()
	defer v.mu.Unlock()
	// If the clock is set back, the authorization may differ before this instant.
	e.from = v.now()
	// Another request may have moved the entries to another revision meanwhile.
	if v.fingerprints.Revision != a.Revision || e.from.Before(began) || !e.isValid(e.from) {
		return
	}
	// A single large authorization must not evict all others.
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
	v.recordCount()
}

// recordCount publishes the number of entries. It is called with mu held.
func (v *authorizationCache) recordCount() {
	v.cache.recordCount(v.kept.Len() - v.count)
	v.count = v.kept.Len()
}

// moveTo moves the entries to the revision of p and drops entries that may differ
// there. It is called with mu held. The comparison of fingerprints is symmetric, so a
// request that began on an earlier revision can move the entries back.
func (v *authorizationCache) moveTo(p decision.Policies) {
	if v.isAt(p) {
		return
	}
	now := p.Fingerprints()
	if v.fingerprints != nil {
		if c := changes(v.fingerprints, now); c.any() {
			v.drop("documents changed", c.affects)
		}
	}
	v.fingerprints = now
	v.recordCount()
}

// forget drops the entries of a user and returns how many of them were valid.
func (v *authorizationCache) forget(p decision.Policies, user string) int {
	v.prepare(p)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.moveTo(p)
	now := v.now()
	valid := 0
	v.drop("the principal asked for it", func(e *cachedAuthorization) bool {
		if !slices.Contains(e.names, user) {
			return false
		}
		if e.isValid(now) {
			valid++
		}
		return true
	})
	v.recordCount()
	return valid
}

// drop removes the selected entries and logs why. It is called with mu held.
func (v *authorizationCache) drop(why string, which func(*cachedAuthorization) bool) {
	for _, key := range v.kept.Keys() {
		if e, ok := v.kept.Peek(key); ok && which(e) {
			v.kept.Remove(key)
			v.log.Debug("an authorization is no longer kept", "key", e.shown, "because", why)
		}
	}
}

// shownKey returns a readable name of an entry for the log. It is not unique and not
// used to find entries.
func shownKey(r *decision.VisibilityRequest) string {
	user := r.User
	if names := r.Names(); user == "" && len(names) > 0 {
		user = names[0]
	}
	action := cmp.Or(r.Action, decision.ActionView)
	principal := user + ":" + strings.Join(r.GroupSet(), ",")
	if !r.IsCustom() {
		resource := r.Cluster.Name
		if r.Type != "" {
			resource += "/" + r.Type
		}
		return "rbac:decision:" + principal + ":" + action + ":" + resource
	}
	cluster := cmp.Or(r.Cluster.Name, "all")
	return "rbac:custom:" + principal + ":" + r.Type + ":" + cluster + ":" + action
}

// weighAuthorization estimates how many bytes an entry keeps alive. Its maps take
// several times as much as their text.
func weighAuthorization(key string, v *cachedAuthorization) int {
	const anEntry = 600
	return anEntry + 2*len(key) + len(v.shown) + 7*len(v.authorization.Encoded)
}
