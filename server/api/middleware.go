package api

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/server/trace"
)

// Tracer follows requests that their senders trace. The function it gives is nil for
// all others, and else to be called when the request is answered.
type Tracer interface {
	Request(r *http.Request, route string) (context.Context, func(status int, revision string))
}

// wrapper wraps endpoints in what all have in common.
type wrapper struct {
	service *exchange.Service
	tracer  Tracer // nil without tracing
	// form writes all refusals; nil leaves it to the routes.
	form exchange.Form
}

// Headers of every answer, made once: their slices are shared and never written.
var (
	nosniff   = []string{"nosniff"}
	noStore   = []string{"no-store"}
	noContent = []string{"default-src 'none'; frame-ancestors 'none'"}
)

// requestID is the header by which callers find the answer to a request; it is repeated
// in the answer.
const requestID = "X-Request-Id"

// wrap returns the gin handler of a route. The parts of the path are path values of the
// request.
func (w *wrapper) wrap(d route) gin.HandlerFunc {
	counter := w.service.Metrics.Route(d.pattern)
	return func(c *gin.Context) {
		began := time.Now()
		w.service.Metrics.Began()
		if !d.quiet && w.service.Logger.Enabled(c.Request.Context(), slog.LevelDebug) {
			ctx, _ := decision.WithTrail(c.Request.Context())
			c.Request = c.Request.WithContext(ctx)
		}
		if end := w.trace(c, d.pattern); end != nil {
			defer end()
		}
		defer w.finish(c, &d, counter, began)
		header := c.Writer.Header()
		header["X-Content-Type-Options"] = nosniff
		header["Cache-Control"] = noStore
		header["Content-Security-Policy"] = noContent
		if ids := c.Request.Header[requestID]; len(ids) > 0 {
			header[requestID] = ids[:1]
		}
		r, refused := w.service.Admit(c.Writer, c.Request, d.role)
		if refused == nil && (hidesSlash(r.URL.RawPath) || !setPathValues(r, c.Params)) {
			refused = exchange.NotFound
		}
		if refused != nil {
			w.service.Refuse(c.Writer, w.formOf(&d, r), refused)
			return
		}
		r.Pattern = d.pattern
		d.handler(c.Writer, r)
	}
}

// hidesSlash reports whether a path as it was written has an encoded slash. The router
// decodes it, and a proxy before the server may not: an endpoint that the proxy denies
// would be reached.
func hidesSlash(raw string) bool {
	return strings.Contains(raw, "%2F") || strings.Contains(raw, "%2f")
}

// setPathValues reports whether every part of the path that names something has a name;
// the router takes an empty part for a name. Without its cluster a request would be out
// of every cluster's scope.
func setPathValues(r *http.Request, params gin.Params) bool {
	for i := range params {
		if params[i].Value == "" {
			return false
		}
		r.SetPathValue(params[i].Key, params[i].Value)
	}
	return true
}

// trace begins the span of a request and returns what ends it; nil for a request that
// is not traced.
func (w *wrapper) trace(c *gin.Context, pattern string) func() {
	if w.tracer == nil {
		return nil
	}
	ctx, end := w.tracer.Request(c.Request, pattern)
	if end == nil {
		return nil
	}
	c.Request = c.Request.WithContext(ctx)
	return func() {
		end(c.Writer.Status(), c.Writer.Header().Get(exchange.RevisionHeader))
	}
}

// finish is deferred: it ends a panic, counts and logs.
func (w *wrapper) finish(c *gin.Context, d *route, counter *metrics.Route, began time.Time) {
	cause := recover()
	begun := c.Writer.Written()
	if cause != nil {
		w.service.Guard.Panicked(c.Request.Context(), d.pattern, cause)
		if !begun {
			w.service.Refuse(c.Writer, w.formOf(d, c.Request), exchange.Internal)
		}
	}
	w.service.Metrics.Ended()
	status := c.Writer.Status()
	counter.Answered(c.Request.Method, status)
	w.log(c, d, status, began)
	if cause != nil && begun {
		panic(http.ErrAbortHandler) // half an answer must not look like a whole one
	}
}

// log writes one line a request: those that were answered at level debug, since
// API servers ask thousands a second, the others louder. It has the revision that
// answered, the trace that the request belongs to and, at level debug, what was decided. It
// holds no body, no query and no other header: what callers choose and may be secret.
func (w *wrapper) log(c *gin.Context, d *route, status int, began time.Time) {
	level := slog.LevelDebug
	switch {
	case d.quiet:
	case status >= http.StatusInternalServerError:
		level = slog.LevelWarn
	case status >= http.StatusBadRequest:
		level = slog.LevelInfo
	}
	ctx, logger := c.Request.Context(), w.service.Logger
	if !logger.Enabled(ctx, level) {
		return
	}
	attributes := []slog.Attr{
		slog.String("route", d.pattern), slog.String("method", exchange.Line(c.Request.Method, 20)),
		slog.String("path", exchange.Line(c.Request.URL.Path, 200)), slog.Int("status", status),
		slog.String("from", c.Request.RemoteAddr), slog.Duration("took", time.Since(began)),
	}
	if revision := c.Writer.Header().Get(exchange.RevisionHeader); revision != "" {
		attributes = append(attributes, slog.String("revision", revision))
	}
	if id := trace.ID(c.Request.Header["Traceparent"]); id != "" {
		attributes = append(attributes, slog.String("trace", id))
	}
	logger.LogAttrs(ctx, level, "request", append(attributes, decision.TrailOf(ctx).Attributes()...)...)
}
