package api

import (
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/metrics"
)

// endpoint is how a route is answered: by handle, or by check and answer if it takes a
// body and gives a decision.
type endpoint struct {
	handle gin.HandlerFunc
	// check, if set, refuses a request before its body is read.
	check func(*gin.Context) *refusal
	// answer gets the policies of the request, the body, checked to be JSON, and a
	// buffer for the answer. At most MaxInFlight of them run at a time.
	answer func(*gin.Context, decision.Policies, decision.Value, *buffer)
	// stream, if set, answers a body of lines instead, as it comes.
	stream gin.HandlerFunc
	// webhook marks endpoints whose caller is an API server: an internal error is a
	// denial with HTTP 200, and shedding a plain 503.
	webhook bool
	// quiet suppresses request logs for probe endpoints, where 503 is expected.
	quiet bool
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

// guard wraps an endpoint in what all have in common.
func (s *service) guard(pattern string, d endpoint) gin.HandlerFunc {
	route := s.Metrics.Route(pattern)
	return func(c *gin.Context) {
		began := time.Now()
		s.Metrics.Began()
		defer s.finish(c, &d, pattern, route, began)
		header := c.Writer.Header()
		header["X-Content-Type-Options"] = nosniff
		header["Cache-Control"] = noStore
		header["Content-Security-Policy"] = noContent
		if hidesSlash(c.Request.URL.RawPath) {
			s.refuse(c, errNotFound)
			return
		}
		if d.handle != nil {
			d.handle(c)
			return
		}
		if d.stream != nil && isLines(c.Request.Header.Get("Content-Type")) {
			d.stream(c)
			return
		}
		s.answerDecision(c, &d)
	}
}

// answerDecision reads the body, and only then takes one of the places for decisions:
// a slow sender must not keep others out. It loads the active revision when it has the
// whole request.
func (s *service) answerDecision(c *gin.Context, d *endpoint) {
	if s.inFlight.isFull(s.MaxInFlight) {
		s.shed(c, d) // without reading it
		return
	}
	if d.check != nil {
		if refused := d.check(c); refused != nil {
			s.refuse(c, refused)
			return
		}
	}
	b := buffers.Get().(*buffer)
	defer s.release(b)
	value, refused := s.parse(c, b)
	switch {
	case refused == errTooManyRequests:
		s.shed(c, d)
		return
	case refused != nil:
		s.refuse(c, refused)
		return
	}
	if !s.inFlight.acquire(s.MaxInFlight) {
		s.shed(c, d)
		return
	}
	defer s.inFlight.release()
	policies, refused := s.policies(c)
	if refused != nil {
		s.refuse(c, refused)
		return
	}
	d.answer(c, policies, value, b)
}

// errTooManyRequests is the refusal of a request beyond a limit.
var errTooManyRequests = &refusal{status: http.StatusServiceUnavailable, message: "too many requests in flight"}

// shed refuses a request that has done nothing wrong. It has no Retry-After: with
// one, an API server comes back with the request until its own time is up.
func (s *service) shed(c *gin.Context, d *endpoint) {
	s.Metrics.Shed()
	if d.webhook {
		write(c, errTooManyRequests.status, textType, []byte(errTooManyRequests.message+"\n"))
		return
	}
	s.refuse(c, errTooManyRequests)
}

// finish is deferred: it ends a panic, counts and logs.
func (s *service) finish(c *gin.Context, d *endpoint, pattern string, route *metrics.Route, began time.Time) {
	cause := recover()
	begun := c.Writer.Written()
	if cause != nil {
		s.protect.Panicked(c.Request.Context(), pattern, cause)
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
func (s *service) broken(c *gin.Context, d *endpoint) {
	if d.webhook {
		write(c, http.StatusOK, jsonType, brokenReview)
		return
	}
	s.refuse(c, &refusal{status: http.StatusInternalServerError, message: internalError})
}

// internalError is the message of an answer after a panic.
var internalError = decision.ErrInternal.Error()

// log writes one line a request: those that were answered at level debug, since
// API servers ask thousands a second, the others louder. It holds no body, no
// query and no header: what callers choose and may be secret.
func (s *service) log(c *gin.Context, d *endpoint, pattern string, status int, began time.Time) {
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
// back: a denial that comes too late has no effect.
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
