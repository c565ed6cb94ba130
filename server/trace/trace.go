// Package trace exports OpenTelemetry spans over OTLP/HTTP: one trace for each reload or
// delivery, with one span for each step, a span for each request whose sender traces it, and
// spans of the requests that these cause at other servers. The environment configures it. It
// must not know other packages of the server.
//
// # Design
//
// Without a collector in the environment the Tracer is nil, so decisions do not pay for
// disabled traces. Requests do not start traces of their own even with a collector: a
// decision takes microseconds, and a caller that needs its trace starts one. Polls without
// news are not exported; they would be nearly all traces.
//
// The context of a trace is not sent to other servers: issuers and registries may be those of
// others.
package trace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/writ-policy/writ/internal/progress"
	"github.com/writ-policy/writ/internal/redirect"
)

// Options describe the process. The zero value is valid.
type Options struct {
	// Version is the version of writ, for the attribute service.version.
	Version string
	// Logger receives failures to export. Nil discards them.
	Logger *slog.Logger
}

// Tracer exports spans. It is safe for concurrent use.
type Tracer struct {
	provider *sdktrace.TracerProvider
	tracer   oteltrace.Tracer
}

// Open returns a Tracer that is configured by the OTEL_* environment variables, nil if they
// do not enable traces. It returns an error if the variables are invalid. It does not
// connect to the collector.
func Open(ctx context.Context, o Options) (*Tracer, error) {
	if isEnabled, err := readEnvironment(); !isEnabled {
		return nil, err
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { o.Logger.Warn("tracing failed", "error", err) }))
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithProxy(proxyOf))
	if err != nil {
		return nil, fmt.Errorf("create the exporter of traces: %w", err)
	}
	service, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "writ"), attribute.String("service.version", o.Version)),
		resource.WithHost(), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("describe the service: %w", err)
	}
	processor := sdktrace.NewBatchSpanProcessor(&loggingExporter{SpanExporter: exporter, log: o.Logger})
	return newTracer(processor, sdktrace.WithResource(service)), nil
}

var errRedirected = errors.New("the collector redirects to another server")

// proxyOf returns the proxy of the environment. It returns an error for a redirect to another
// server: the headers of OTEL_EXPORTER_OTLP_HEADERS are not for it. The exporter has no other
// place for that which leaves its TLS variables in force.
func proxyOf(request *http.Request) (*url.URL, error) {
	if r := request.Response; r != nil && r.Request != nil && !redirect.SameServer(r.Request.URL, request.URL) {
		return nil, errRedirected
	}
	return http.ProxyFromEnvironment(request)
}

func newTracer(processor sdktrace.SpanProcessor, o ...sdktrace.TracerProviderOption) *Tracer {
	provider := sdktrace.NewTracerProvider(append(o, sdktrace.WithSpanProcessor(newIdleTraceFilter(processor)))...)
	return &Tracer{provider, provider.Tracer("github.com/writ-policy/writ")}
}

// Close exports the remaining spans. It returns an error if that fails or ctx ends first.
func (t *Tracer) Close(ctx context.Context) error { return t.provider.Shutdown(ctx) }

var _ progress.Observer = (*Tracer)(nil)

// Start implements progress.Observer.
func (t *Tracer) Start(ctx context.Context, s *progress.Span) (context.Context, progress.SpanObserver) {
	kind := oteltrace.SpanKindInternal
	if s.Name == progress.Request {
		kind = oteltrace.SpanKindClient
	}
	ctx, span := t.tracer.Start(ctx, string(s.Name), oteltrace.WithSpanKind(kind))
	return ctx, &spanObserver{span, s}
}

// spanObserver copies a progress.Span to an OpenTelemetry span.
type spanObserver struct {
	span oteltrace.Span
	from *progress.Span
}

// attributePrefix distinguishes writ's attributes from OpenTelemetry's conventions.
const attributePrefix = "writ."

// conventional are the names of attributes that OpenTelemetry's conventions have.
var conventional = map[progress.Attribute]attribute.Key{
	progress.Method: "http.request.method", progress.Host: "server.address", progress.Port: "server.port", progress.Status: "http.response.status_code",
}

func (o *spanObserver) Set(key progress.Attribute, value any) {
	name, ok := conventional[key]
	if !ok {
		name = attribute.Key(attributePrefix + string(key))
	}
	switch value := value.(type) {
	case string:
		o.span.SetAttributes(name.String(value))
	case int:
		o.span.SetAttributes(name.Int(value))
	case int64:
		o.span.SetAttributes(name.Int64(value))
	}
}

func (o *spanObserver) End(err error) {
	if n, unit := o.from.Done(); unit != "" {
		o.span.SetAttributes(attribute.Int64(attributePrefix+"done", n), attribute.String(attributePrefix+"unit", unit))
	}
	switch {
	case errors.Is(err, context.Canceled): // the server stops
		o.Set(progress.Outcome, progress.Unchanged)
	case err != nil:
		o.span.SetStatus(codes.Error, err.Error())
	}
	o.span.End()
}
