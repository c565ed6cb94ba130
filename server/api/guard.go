package api

import (
	"context"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/writ-policy/writ/server/metrics"
)

// door is how a route is guarded and answered.
type door struct {
	// decides marks the doors that cost: at most MaxInFlight of their requests
	// are answered at a time.
	decides bool
	// webhook marks the doors whose caller is an API server: whatever goes wrong
	// inside is a denial with HTTP 200, and shedding a plain 503.
	webhook bool
	// quiet marks the doors that are asked again and again by machines, whose
	// "no" is no event.
	quiet  bool
	handle gin.HandlerFunc
}

// Headers of every answer, made once: their slices are shared and never written.
var (
	jsonType    = []string{"application/json"}
	problemType = []string{"application/problem+json"}
	textType    = []string{"text/plain; charset=utf-8"}
	nosniff     = []string{"nosniff"}
	noStore     = []string{"no-store"}
	noContent   = []string{"default-src 'none'; frame-ancestors 'none'"}
)

// guard puts around a door what all have in common.
func (s *service) guard(pattern string, d door) gin.HandlerFunc {
	route := s.Metrics.Route(pattern)
	return func(c *gin.Context) {
		began := time.Now()
		s.Metrics.Began()
		defer s.finish(c, &d, pattern, route, began)
		header := c.Writer.Header()
		header["X-Content-Type-Options"] = nosniff
		header["Cache-Control"] = noStore
		header["Content-Security-Policy"] = noContent
		if d.decides {
			if s.inFlight.Add(1) > int64(s.MaxInFlight) {
				s.inFlight.Add(-1)
				s.shed(c, &d)
				return
			}
			defer s.inFlight.Add(-1)
		}
		d.handle(c)
	}
}

// shed refuses a request without looking at it. It has no Retry-After: with one,
// an API server comes back with the request until its own time is up.
func (s *service) shed(c *gin.Context, d *door) {
	s.Metrics.Shed()
	const message = "too many requests in flight"
	if d.webhook {
		write(c, http.StatusServiceUnavailable, textType, []byte(message+"\n"))
		return
	}
	s.refuse(c, &refusal{status: http.StatusServiceUnavailable, message: message})
}

// finish is deferred: it ends a panic, counts and logs.
func (s *service) finish(c *gin.Context, d *door, pattern string, route *metrics.Route, began time.Time) {
	cause := recover()
	begun := c.Writer.Written()
	if cause != nil {
		s.Metrics.Panicked()
		s.panicked(c.Request.Context(), pattern, cause)
		if !begun {
			s.broken(c, d)
		}
	}
	s.Metrics.Ended()
	status := c.Writer.Status()
	route.Answered(c.Request.Method, status)
	s.log(c, d, pattern, status, began)
	if cause != nil && begun {
		panic(http.ErrAbortHandler) // half an answer must not look like a whole one
	}
}

// broken answers in place of a handler that panicked.
func (s *service) broken(c *gin.Context, d *door) {
	if d.webhook {
		write(c, http.StatusOK, jsonType, brokenReview)
		return
	}
	s.refuse(c, &refusal{status: http.StatusInternalServerError, message: internalError})
}

// internalError is all that a caller hears of a bug.
const internalError = "internal error"

func (s *service) panicked(ctx context.Context, pattern string, cause any) {
	s.Logger.ErrorContext(ctx, "a request panicked", "route", pattern, "panic", cause, "stack", string(debug.Stack()))
}

// log writes one line a request: those that were answered at level debug, since
// API servers ask thousands a second, the others louder. It holds no body, no
// query and no header: what callers choose and may be secret.
func (s *service) log(c *gin.Context, d *door, pattern string, status int, began time.Time) {
	level := slog.LevelDebug
	switch {
	case d.quiet:
	case status >= http.StatusInternalServerError:
		level = slog.LevelWarn
	case status >= http.StatusBadRequest:
		level = slog.LevelInfo
	}
	ctx := c.Request.Context()
	if !s.Logger.Enabled(ctx, level) {
		return
	}
	s.Logger.LogAttrs(ctx, level, "request",
		slog.String("route", pattern), slog.String("method", line(c.Request.Method, 20)),
		slog.String("path", line(c.Request.URL.Path, 200)), slog.Int("status", status),
		slog.String("from", c.Request.RemoteAddr), slog.Duration("took", time.Since(began)))
}

// budget is how long a decision may take: Timeout, or less where the caller says
// with ?timeout= when it will have given up. A tenth of that is left for the way
// back: a denial that comes too late is none.
func (s *service) budget(query string) time.Duration {
	if query == "" {
		return s.Timeout
	}
	for pair := range strings.SplitSeq(query, "&") {
		if text, ok := strings.CutPrefix(pair, "timeout="); ok {
			if bound, err := time.ParseDuration(text); err == nil && bound > 0 {
				return min(s.Timeout, bound-bound/10)
			}
		}
	}
	return s.Timeout
}
