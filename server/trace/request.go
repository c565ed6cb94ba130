package trace

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/writ-policy/writ/server/decision"
)

// parentHeader is the canonical key of the header traceparent of W3C's trace context.
const parentHeader = "Traceparent"

// Request starts the span of a request that is part of a sampled trace, and returns the
// function that ends it. For other requests it returns nil and the context of r. The route is
// a pattern, never a path. The revision may be empty.
func (t *Tracer) Request(r *http.Request, route string) (context.Context, func(status int, revision string)) {
	if len(r.Header[parentHeader]) == 0 {
		return r.Context(), nil
	}
	ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	if !oteltrace.SpanContextFromContext(ctx).IsSampled() {
		return r.Context(), nil
	}
	ctx, span := t.tracer.Start(ctx, r.Method+" "+route, oteltrace.WithSpanKind(oteltrace.SpanKindServer),
		oteltrace.WithAttributes(attribute.String("http.request.method", r.Method), attribute.String("http.route", route)))
	own := span.SpanContext()
	ctx = decision.WithSpan(ctx, decision.Span{TraceID: own.TraceID().String(), SpanID: own.SpanID().String()})
	return ctx, func(status int, revision string) {
		span.SetAttributes(attribute.Int("http.response.status_code", status))
		if revision != "" {
			span.SetAttributes(attribute.String(attributePrefix+"revision", revision))
		}
		if status >= http.StatusInternalServerError {
			span.SetStatus(codes.Error, "")
		}
		span.End()
	}
}
