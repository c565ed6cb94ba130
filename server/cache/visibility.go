package cache

import (
	"context"
	"iter"
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
	// DefaultVisibilityBytes.
	Bytes int
	// Logger hears, at level debug, which of them are dropped before their time;
	// nil means nobody does.
	Logger *slog.Logger
}

// Bounds of authorizations unless they are set.
const (
	DefaultTTL             = 5 * time.Minute
	DefaultVisibilityBytes = 64 << 20
)

var (
	_ decision.Viewer  = (*Cache)(nil)
	_ decision.Monitor = (*Cache)(nil)
)

// viewer is the Reviewer behind, as far as it answers at the visibility point.
func (c *Cache) viewer() decision.Viewer {
	if viewer, ok := c.next.(decision.Viewer); ok {
		return viewer
	}
	return decision.NoViewer("nothing answers at the visibility point")
}

// Authorize answers from what is kept, or asks the Reviewer behind. Trouble is
// never kept.
func (c *Cache) Authorize(ctx context.Context, r *decision.VisibilityRequest) decision.Authorization {
	if c.views != nil {
		return c.views.authorize(ctx, r)
	}
	return c.viewer().Authorize(ctx, r)
}

// View answers items and numbers anew, by an authorization that may be kept.
func (c *Cache) View(ctx context.Context, r *decision.VisibilityRequest) decision.VisibilityDecision {
	if c.views != nil {
		return decision.ViewBy(ctx, c.viewer(), r, c.views.authorize(ctx, r))
	}
	return c.viewer().View(ctx, r)
}

// Show is like View.
func (c *Cache) Show(ctx context.Context, r *decision.VisibilityRequest, items iter.Seq2[decision.Item, error], yield func(int) error) (decision.VisibilityDecision, error) {
	if c.views != nil {
		return c.viewer().Fill(ctx, r, c.views.authorize(ctx, r), items, yield)
	}
	return c.viewer().Show(ctx, r, items, yield)
}

// Fill asks the Reviewer behind.
func (c *Cache) Fill(ctx context.Context, r *decision.VisibilityRequest, a decision.Authorization, items iter.Seq2[decision.Item, error], yield func(int) error) (decision.VisibilityDecision, error) {
	return c.viewer().Fill(ctx, r, a, items, yield)
}

// Forget drops the authorizations that are kept for a user, whatever their groups,
// and says how many they were. A service account is the user
// system:serviceaccount:NAMESPACE:NAME.
func (c *Cache) Forget(user string) int {
	if c.views == nil {
		return 0
	}
	return c.views.forget(user)
}

// monitor is the Reviewer behind, as far as it tells what documents say. Listings
// are not cached: they are asked by people, and rarely.
func (c *Cache) monitor() decision.Monitor {
	if monitor, ok := c.next.(decision.Monitor); ok {
		return monitor
	}
	return decision.NoMonitor("nothing tells of the visibility point")
}

// Policies asks the Reviewer behind.
func (c *Cache) Policies(ctx context.Context, p decision.Principal) decision.PolicyListing {
	return c.monitor().Policies(ctx, p)
}

// Permissions asks the Reviewer behind.
func (c *Cache) Permissions(ctx context.Context, p decision.Principal, clusters []string, labels func(string) map[string]string) decision.PermissionListing {
	return c.monitor().Permissions(ctx, p, clusters, labels)
}

// CustomTypes asks the Reviewer behind.
func (c *Cache) CustomTypes(ctx context.Context, p decision.Principal) decision.TypeListing {
	return c.monitor().CustomTypes(ctx, p)
}
