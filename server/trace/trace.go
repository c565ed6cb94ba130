// Package trace tells a collector of OpenTelemetry how documents and bundles came
// into service: one trace a reload or delivery, one span a step. A request that is
// traced by whoever sent it gets a span too. What the environment says comes in, OTLP
// over HTTP goes out; the package knows no other part of the server.
//
// # Design
//
// Where the environment names no collector there is no Tracer, and nobody asks one:
// decisions do not pay for what is off. Requests begin no traces of their own, even
// where there is a collector: a decision takes microseconds, and who wants to see it
// traces its caller. Of polls that find nothing new there are no traces either; they
// would be all there is to see.
package trace

import (
	"context"
	"errors"
	"log/slog"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/writ-policy/writ/translator/progress"
)

// Options say who traces. All may be zero.
type Options struct {
	// Version is that of writ.
	Version string
	Logger  *slog.Logger
}

// Tracer sends spans. It is safe for concurrent use.
type Tracer struct {
	provider *sdktrace.TracerProvider
	tracer   oteltrace.Tracer
}

// Open is a Tracer as the environment's OTEL_* variables describe it; nil where they
// ask for none. The error is of what they say, and no collector is asked yet.
func Open(ctx context.Context, o Options) (*Tracer, error) {
	if wanted, err := wanted(); !wanted {
		return nil, err
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { o.Logger.Warn("tracing", "error", err) }))
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, err
	}
	about, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "writ"), attribute.String("service.version", o.Version)),
		resource.WithHost(), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, err
	}
	sends := sdktrace.NewBatchSpanProcessor(&teller{SpanExporter: exporter, log: o.Logger})
	return newTracer(sends, sdktrace.WithResource(about)), nil
}

func newTracer(sends sdktrace.SpanProcessor, o ...sdktrace.TracerProviderOption) *Tracer {
	provider := sdktrace.NewTracerProvider(append(o, sdktrace.WithSpanProcessor(newSieve(sends)))...)
	return &Tracer{provider, provider.Tracer("github.com/writ-policy/writ")}
}

// Close sends what was not sent yet, for as long as ctx lets it.
func (t *Tracer) Close(ctx context.Context) error { return t.provider.Shutdown(ctx) }

var _ progress.Observer = (*Tracer)(nil)

// Begin begins a span for a phase.
func (t *Tracer) Start(ctx context.Context, p *progress.Span) (context.Context, progress.SpanObserver) {
	ctx, span := t.tracer.Start(ctx, string(p.Name))
	return ctx, &ear{span, p}
}

// ear is the span of a phase.
type ear struct {
	span oteltrace.Span
	p    *progress.Span
}

// prefix makes attributes of ours told from those that everybody has.
const prefix = "writ."

func (e *ear) Set(key progress.Attribute, value any) {
	name := attribute.Key(prefix + string(key))
	switch value := value.(type) {
	case string:
		e.span.SetAttributes(name.String(value))
	case int:
		e.span.SetAttributes(name.Int(value))
	case int64:
		e.span.SetAttributes(name.Int64(value))
	}
}

func (e *ear) End(err error) {
	if n, unit := e.p.Done(); unit != "" {
		e.span.SetAttributes(attribute.Int64(prefix+"done", n), attribute.String(prefix+"unit", unit))
	}
	switch {
	case errors.Is(err, context.Canceled): // the server stops
		e.Set(progress.Outcome, progress.Unchanged)
	case err != nil:
		e.span.SetStatus(codes.Error, err.Error())
	}
	e.span.End()
}
