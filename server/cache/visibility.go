package cache

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/writ-policy/writ/server/decision"
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

// Visibility returns the cached authorization, or a new one. An authorization with an
// evaluation error is never cached.
func (v *cached) Visibility(ctx context.Context, r *decision.VisibilityRequest) decision.Authorization {
	if v.cache.authorizations == nil || v.Revision() == "" {
		return v.Policies.Visibility(ctx, r)
	}
	return v.cache.authorizations.authorize(ctx, v.Policies, r)
}

// Forget drops the cached authorizations of a user, with any groups, and returns how
// many of them were valid for p. A service account is the user
// system:serviceaccount:NAMESPACE:NAME.
func (c *Cache) Forget(p decision.Policies, user string) int {
	if c.authorizations == nil {
		return 0
	}
	return c.authorizations.forget(p, user)
}

// changed holds the principals and types that differ between two revisions. Names are
// literals, not patterns.
type changed struct {
	names, groups, types map[string]bool
}

// changes compares the fingerprints of two revisions. A changed policy affects the
// principals it named before and those it names now.
func changes(before, after *decision.Fingerprints) changed {
	c := changed{map[string]bool{}, map[string]bool{}, map[string]bool{}}
	differing(before.Policies, after.Policies, func(p decision.PolicyFingerprint) string { return p.Hash }, func(p decision.PolicyFingerprint) {
		for _, name := range p.Names {
			c.names[name] = true
		}
		for _, group := range p.Groups {
			c.groups[group] = true
		}
	})
	differing(before.Sources, after.Sources, func(s decision.SourceFingerprint) string { return s.Hash }, func(s decision.SourceFingerprint) {
		if s.Type != "" {
			c.types[s.Type] = true
		}
	})
	return c
}

// differing calls report for each value that is absent from the other map or has
// another hash there.
func differing[T any](before, after map[decision.DocumentName]T, hash func(T) string, report func(T)) {
	for name, old := range before {
		if new, found := after[name]; !found || hash(new) != hash(old) {
			report(old)
		}
	}
	for name, new := range after {
		if old, found := before[name]; !found || hash(old) != hash(new) {
			report(new)
		}
	}
}

func (c changed) any() bool { return len(c.names)+len(c.groups)+len(c.types) > 0 }

// affects reports whether an authorization may have changed.
func (c changed) affects(e *cachedAuthorization) bool {
	return c.types[e.typ] ||
		slices.ContainsFunc(e.names, func(name string) bool { return c.names[name] }) ||
		slices.ContainsFunc(e.groups, func(group string) bool { return c.groups[group] })
}
