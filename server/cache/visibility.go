package cache

import (
	"context"
	"log/slog"
	"time"

	"github.com/writ-policy/writ/server/decision"
)

// VisibilityOptions bound what is kept of the visibility point. The zero value
// keeps nothing.
type VisibilityOptions struct {
	// Entries is how many authorizations are kept.
	Entries int
	// TTL is how long one is kept; zero means DefaultTTL.
	TTL time.Duration
	// Bytes is about how much memory they may take; zero means
	// defaultVisibilityBytes.
	Bytes int
	// Logger records, at level debug, which of them are dropped before they expire;
	// nil discards.
	Logger *slog.Logger
}

// Bounds of authorizations unless they are set.
const (
	DefaultTTL             = 5 * time.Minute
	defaultVisibilityBytes = 64 << 20
)

// Visibility returns the kept authorization, or asks p. One with an evaluation error
// is never kept.
func (c *Cache) Visibility(ctx context.Context, p decision.Policies, r *decision.VisibilityRequest) decision.Authorization {
	if c.authorizations == nil || p.Revision() == "" {
		return p.Visibility(ctx, r)
	}
	return c.authorizations.authorize(ctx, p, r)
}

// Forget drops the authorizations that are kept for a user, whatever its groups, and
// returns how many of them were valid for p. A service account is the user
// system:serviceaccount:NAMESPACE:NAME.
func (c *Cache) Forget(p decision.Policies, user string) int {
	if c.authorizations == nil {
		return 0
	}
	return c.authorizations.forget(p, user)
}
