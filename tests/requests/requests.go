// Package requests counts the requests to other servers that an observer receives, for tests.
package requests

import (
	"context"
	"sync/atomic"

	"github.com/writ-policy/writ/internal/progress"
)

// Counter is an observer that counts. The zero value is ready. It is safe for concurrent use.
type Counter struct{ atomic.Int64 }

// Start implements progress.Observer.
func (c *Counter) Start(ctx context.Context, s *progress.Span) (context.Context, progress.SpanObserver) {
	if s.Name == progress.Request {
		c.Add(1)
	}
	return ctx, ignored{}
}

type ignored struct{}

func (ignored) Set(progress.Attribute, any) {}
func (ignored) End(error)                   {}
