package trace

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	oteltrace "go.opentelemetry.io/otel/trace"
)

// parentName is the header of W3C's trace context, as a header's map has it.
const parentName = "Traceparent"

// Request begins the span of a request whose sender is tracing it, and gives a
// function that ends it; without a trace to be part of there is neither, and the
// function is nil. Route is a pattern, never a path.
func (t *Tracer) Request(r *http.Request, route string) (context.Context, func(status int, revision string)) {
	if len(r.Header[parentName]) == 0 {
		return r.Context(), nil
	}
	ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	if !oteltrace.SpanContextFromContext(ctx).IsSampled() {
		return r.Context(), nil
	}
	ctx, span := t.tracer.Start(ctx, r.Method+" "+route, oteltrace.WithSpanKind(oteltrace.SpanKindServer),
		oteltrace.WithAttributes(attribute.String("http.request.method", r.Method), attribute.String("http.route", route)))
	return ctx, func(status int, revision string) {
		span.SetAttributes(attribute.Int("http.response.status_code", status))
		if revision != "" {
			span.SetAttributes(attribute.String(prefix+"revision", revision))
		}
		if status >= http.StatusInternalServerError {
			span.SetStatus(codes.Error, "")
		}
		span.End()
	}
}
