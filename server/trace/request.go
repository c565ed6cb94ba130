package trace

import (
	"context"
	"net/http"
	"regexp"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/writ-policy/writ/internal/progress"
	"github.com/writ-policy/writ/server/decision"
)

// traceParent matches the header traceparent of W3C's trace context, version 00.
var traceParent = regexp.MustCompile(`^00-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$`)

// ID returns the trace that a request belongs to, sampled or not. Parents are the values of
// its traceparent. It is empty without exactly one that is valid.
func ID(parents []string) string {
	if len(parents) != 1 {
		return ""
	}
	if parts := traceParent.FindStringSubmatch(parents[0]); parts != nil {
		return parts[1]
	}
	return ""
}

// parentHeader is the canonical key of the header traceparent of W3C's trace context.
const parentHeader = "Traceparent"

// Request starts the span of a request that is part of a sampled trace, and returns the
// function that ends it. For other requests it returns nil and the context of r. The route is
// a pattern, never a path. The revision may be empty.
func (t *Tracer) Request(r *http.Request, route string) (context.Context, func(status int, revision string)) {
	if len(r.Header[parentHeader]) == 0 {
		return r.Context(), nil
	}
	ctx, span := t.sampled(r.Context(), propagation.HeaderCarrier(r.Header), r.Method+" "+route,
		attribute.String("http.request.method", r.Method), attribute.String("http.route", route))
	if span == nil {
		return ctx, nil
	}
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

// Call starts the span of a gRPC call that is part of a sampled trace, and returns the
// function that ends it. For other calls it returns nil and ctx. Parents are the values of
// traceparent in the metadata of the call, the method is SERVICE/METHOD.
func (t *Tracer) Call(ctx context.Context, parents []string, method string) (context.Context, func(revision string)) {
	if len(parents) != 1 {
		return ctx, nil
	}
	service, name, _ := strings.Cut(method, "/")
	ctx, span := t.sampled(ctx, propagation.MapCarrier{"traceparent": parents[0]}, method,
		attribute.String("rpc.system", "grpc"), attribute.String("rpc.service", service), attribute.String("rpc.method", name))
	if span == nil {
		return ctx, nil
	}
	return ctx, func(revision string) {
		if revision != "" {
			span.SetAttributes(attribute.String(attributePrefix+"revision", revision))
		}
		span.End()
	}
}

// sampled starts the span of a sender that samples its trace. The span is nil for others.
func (t *Tracer) sampled(ctx context.Context, carrier propagation.TextMapCarrier, name string, attributes ...attribute.KeyValue) (context.Context, oteltrace.Span) {
	within := propagation.TraceContext{}.Extract(ctx, carrier)
	if !oteltrace.SpanContextFromContext(within).IsSampled() {
		return ctx, nil
	}
	within, span := t.tracer.Start(within, name, oteltrace.WithSpanKind(oteltrace.SpanKindServer), oteltrace.WithAttributes(attributes...))
	own := span.SpanContext()
	within = progress.WithObservers(within, t)
	return decision.WithSpan(within, decision.Span{TraceID: own.TraceID().String(), SpanID: own.SpanID().String()}), span
}
