package cache

import (
	"context"
	"log/slog"
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
