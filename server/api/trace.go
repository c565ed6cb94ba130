package api

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"
)

// Tracer follows requests that their senders trace. The function it gives is nil for
// all others, and else to be called when the request is answered.
type Tracer interface {
	Request(r *http.Request, route string) (context.Context, func(status int, revision string))
}

// traced puts the span of a request around its handler. Without a Tracer it is the
// handler itself.
func (s *service) traced(pattern string, handler gin.HandlerFunc) gin.HandlerFunc {
	if s.Tracer == nil {
		return handler
	}
	return func(c *gin.Context) {
		ctx, end := s.Tracer.Request(c.Request, pattern)
		if end == nil {
			handler(c)
			return
		}
		defer func() {
			revision := ""
			if values := c.Writer.Header()[revisionName]; len(values) > 0 {
				revision = values[0]
			}
			end(c.Writer.Status(), revision)
		}()
		c.Request = c.Request.WithContext(ctx)
		handler(c)
	}
}
