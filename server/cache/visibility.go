package cache

import (
	"cmp"
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/dates"
)

// VisibilityOptions bound the cache of authorizations. The zero value caches nothing.
type VisibilityOptions struct {
	// Entries is the maximum number of authorizations.
	Entries int
	// TTL is how long an authorization is cached; zero means DefaultTTL.
	TTL time.Duration
	// Bytes is the approximate memory limit; zero means 64 MiB.
	Bytes int
	// Logger records, at level debug, authorizations that are dropped before they
	// expire; nil disables the log.
	Logger *slog.Logger
}

// Defaults of VisibilityOptions.
const (
	DefaultTTL             = 5 * time.Minute
	defaultVisibilityBytes = 64 << 20
)

// authorized is an authorization with the request that it was made for, without items and
// numbers.
type authorized struct {
	decision.Authorization
	of decision.VisibilityRequest
}

// Visibility returns the cached authorization, or a new one. An authorization with an
// evaluation error is never cached.
func (v *cached) Visibility(ctx context.Context, r *decision.VisibilityRequest) decision.Authorization {
	c, t, p, revision := v.cache, v.cache.authorizations, v.Policies, v.Loaded().Revision
	if t.kept == nil || revision == "" {
		return p.Visibility(ctx, r)
	}
	key, room, ok := keyOf(p, r)
	defer keyRooms.Put(room)
	if !ok {
		return p.Visibility(ctx, r)
	}
	if a := t.find(key, v.clock); a != nil {
		if a.revision == revision {
			c.metrics.CacheHit()
			d := a.decision.Authorization
			d.Cached = true
			return d
		}
		if d := a.decision; p.Keeps(r, &d.Authorization, key) {
			d.Encode()
			t.keepOver(key, *a, revision, d)
			d.Cached = true
			return d.Authorization
		}
		c.logDropped(&a.decision.of, "documents changed")
	}
	a, err := t.evaluate(ctx, flightKey{revision, string(key)}, v.clock, func() answer[authorized] {
		began := v.clock()
		return c.authorizationAnswer(p.Visibility(ctx, r), r, key, began)
	})
	if err != nil {
		d := decision.FailedAuthorization(decision.CheckContext(ctx).Error())
		d.Revision = revision
		return d
	}
	return a.decision.Authorization
}

// authorizationAnswer returns an authorization that was decided from an instant on. Before it,
// if the clock is set back, the authorization may differ. Encoded once, it is written as it is
// to all who get it.
func (c *Cache) authorizationAnswer(d decision.Authorization, r *decision.VisibilityRequest, key []byte, began time.Time) answer[authorized] {
	begin, end := dates.Of(began), dates.Of(began.Add(c.ttl))
	if !d.Expires.IsZero() {
		end = min(end, dates.Of(d.Expires))
	}
	a := answer[authorized]{revision: d.Revision, span: dates.Span{Begin: &begin, End: &end}}
	if d.EvaluationError == "" {
		d.Encode()
		// Maps take several times as much as their text.
		const anAuthorization, ofText, ofNames = 400, 7, 150
		a.bytes = anAuthorization + len(key) + ofText*len(d.Encoded) + ofNames
	}
	a.decision = authorized{d, principalOf(r)}
	return a
}

// principalOf returns a copy of what names the principal of a request and what it asks for: texts
// that are parts of a body would keep all of it in memory.
func principalOf(r *decision.VisibilityRequest) decision.VisibilityRequest {
	of := decision.VisibilityRequest{
		User: strings.Clone(r.User), Groups: r.GroupSet(), Action: strings.Clone(r.Action), Type: strings.Clone(r.Type),
		ServiceAccount: decision.ServiceAccount{
			Namespace: strings.Clone(r.ServiceAccount.Namespace), Name: strings.Clone(r.ServiceAccount.Name),
		},
		Cluster: decision.Cluster{Name: strings.Clone(r.Cluster.Name)},
	}
	for i, group := range of.Groups {
		of.Groups[i] = strings.Clone(group)
	}
	return of
}

// Forget drops the cached authorizations of a user, with any groups, and returns how
// many of them were valid for p. A service account is the user
// system:serviceaccount:NAMESPACE:NAME.
func (c *Cache) Forget(p decision.Policies, user string) int {
	now, valid := c.now(), 0
	c.authorizations.drop(user, func(key string, a *answer[authorized]) {
		d := a.decision
		if a.isValid(now) && (a.revision == p.Loaded().Revision || p.Keeps(&d.of, &d.Authorization, []byte(key))) {
			valid++
		}
		c.logDropped(&d.of, "the principal asked for it")
	})
	return valid
}

func (c *Cache) logDropped(of *decision.VisibilityRequest, why string) {
	if c.log != nil {
		c.log.Debug("an authorization was dropped from the cache", "key", shown(of), "because", why)
	}
}

// shown returns a readable name of an entry for the log. It is not unique.
func shown(r *decision.VisibilityRequest) string {
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
