package cache

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/writ-policy/writ/server/decision"
)

// authorizationCache keeps authorizations. All of them are valid at the revision of
// fingerprints: when that changes, those are dropped whose principal a changed policy
// names, and those of a type whose source changed. The others are revalidated when
// they are next used.
type authorizationCache struct {
	cache *Cache
	ttl   time.Duration
	bytes int
	log   *slog.Logger
	count atomic.Int64 // of kept

	mu           sync.Mutex // held to look up and to keep, never while evaluating
	kept         *simplelru.LRU[string, *cachedAuthorization]
	weight       int                    // of all that is kept
	fingerprints *decision.Fingerprints // nil before the first revision
}

// cachedAuthorization is one authorization and its principal. It is valid in
// [from, until).
type cachedAuthorization struct {
	authorization decision.Authorization
	names, groups []string
	typ           string
	shown         string
	from, until   time.Time
	weight        int
}

// newAuthorizationCache returns nil if no authorizations are to be kept.
func newAuthorizationCache(c *Cache, o VisibilityOptions) *authorizationCache {
	if o.Entries <= 0 {
		return nil
	}
	v := &authorizationCache{cache: c, ttl: o.TTL, bytes: o.Bytes, log: o.Logger}
	if v.ttl <= 0 {
		v.ttl = DefaultTTL
	}
	if v.bytes <= 0 {
		v.bytes = defaultVisibilityBytes
	}
	if v.log == nil {
		v.log = slog.New(slog.DiscardHandler)
	}
	// The size is positive, the one thing NewLRU can object to.
	v.kept, _ = simplelru.NewLRU(o.Entries, func(_ string, e *cachedAuthorization) { v.weight -= e.weight })
	return v
}

// now strips the monotonic clock reading, so that clock adjustments affect cached
// entries as they affect policies.
func (v *authorizationCache) now() time.Time { return v.cache.now().Round(0) }

func (v *authorizationCache) authorize(ctx context.Context, p decision.Policies, r *decision.VisibilityRequest) decision.Authorization {
	key := r.AuthorizationKey()
	v.prepare(p)
	if a, ok := v.find(key, p); ok {
		v.cache.metrics.CacheHit()
		return a
	}
	v.cache.metrics.CacheMissed()
	began := v.now()
	a := p.Visibility(ctx, r)
	v.keep(key, r, &a, began)
	return a
}

// prepare computes the fingerprints that follow needs before the lock is taken: with
// many policies that takes a while.
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
	v.follow(p)
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
// held, after follow.
func (e *cachedAuthorization) revalidate(p decision.Policies) (ok bool) {
	if e.authorization.Revision == p.Revision() {
		return true
	}
	e.authorization, ok = p.Revalidate(e.authorization)
	return ok
}

func (v *authorizationCache) keep(key string, r *decision.VisibilityRequest, a *decision.Authorization, began time.Time) {
	if a.EvaluationError != "" {
		return
	}
	e := &cachedAuthorization{authorization: *a, names: r.Names(), groups: r.GroupSet(), typ: r.Type, shown: shownKey(r), until: began.Add(v.ttl)}
	if !a.Expires.IsZero() && a.Expires.Before(e.until) {
		e.until = a.Expires
	}
	e.weight = weighAuthorization(key, e)
	v.mu.Lock()
	defer v.mu.Unlock()
	// If the clock is set back, the answer for a time before this one is unknown.
	e.from = v.now()
	// Another request may have moved the entries to another revision meanwhile.
	if v.fingerprints.Revision != a.Revision || e.from.Before(began) || !e.isValid(e.from) {
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
func (v *authorizationCache) counted() {
	v.count.Store(int64(v.kept.Len()))
	v.cache.counted()
}

// follow moves the entries to the revision of p and drops those that may differ
// there. It is called with mu held. Fingerprints are symmetric: a request that began
// on an earlier revision moves the entries back, and no entry answers wrongly.
func (v *authorizationCache) follow(p decision.Policies) {
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
	v.counted()
}

// forget drops the entries of a user and returns how many of them were valid.
func (v *authorizationCache) forget(p decision.Policies, user string) int {
	v.prepare(p)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.follow(p)
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
	v.counted()
	return valid
}

// drop is called with mu held.
func (v *authorizationCache) drop(why string, which func(*cachedAuthorization) bool) {
	for _, key := range v.kept.Keys() {
		if e, ok := v.kept.Peek(key); ok && which(e) {
			v.kept.Remove(key)
			v.log.Debug("an authorization is no longer kept", "key", e.shown, "because", why)
		}
	}
}

// shownKey names an entry in the log. It is not unique and no entry is looked up by
// it.
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
	cluster := r.Cluster.Name
	if cluster == "" {
		cluster = "all"
	}
	return "rbac:custom:" + principal + ":" + r.Type + ":" + cluster + ":" + action
}

// weighAuthorization estimates how many bytes an entry keeps alive: it holds maps,
// which are several times as large as their text.
func weighAuthorization(key string, v *cachedAuthorization) int {
	const anEntry = 600
	return anEntry + 2*len(key) + len(v.shown) + 6*len(v.authorization.AppendJSON(nil))
}
