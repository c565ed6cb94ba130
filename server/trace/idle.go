package trace

import (
	"context"
	"sync"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/writ-policy/writ/internal/progress"
)

// idleTraceFilter is a SpanProcessor that holds back the spans of a trace until its root
// ends, and drops them if the root had nothing to do: polls without news would be nearly all
// traces.
type idleTraceFilter struct {
	next sdktrace.SpanProcessor

	mu      sync.Mutex // held to read and write pending
	pending map[oteltrace.TraceID][]sdktrace.ReadOnlySpan
}

func newIdleTraceFilter(next sdktrace.SpanProcessor) *idleTraceFilter {
	return &idleTraceFilter{next: next, pending: make(map[oteltrace.TraceID][]sdktrace.ReadOnlySpan)}
}

// OnStart implements SpanProcessor.
func (f *idleTraceFilter) OnStart(ctx context.Context, span sdktrace.ReadWriteSpan) {
	f.next.OnStart(ctx, span)
}

// OnEnd implements SpanProcessor. A span whose parent is remote is a root here.
func (f *idleTraceFilter) OnEnd(span sdktrace.ReadOnlySpan) {
	id := span.SpanContext().TraceID()
	if parent := span.Parent(); parent.IsValid() && !parent.IsRemote() {
		f.mu.Lock()
		f.pending[id] = append(f.pending[id], span)
		f.mu.Unlock()
		return
	}
	f.mu.Lock()
	children := f.pending[id]
	delete(f.pending, id)
	f.mu.Unlock()
	if isIdle(span) {
		return
	}
	for _, child := range children {
		f.next.OnEnd(child)
	}
	f.next.OnEnd(span)
}

func isIdle(span sdktrace.ReadOnlySpan) bool {
	for _, a := range span.Attributes() {
		if string(a.Key) == attributePrefix+string(progress.Outcome) {
			return a.Value.AsString() == progress.Unchanged
		}
	}
	return false
}

// Shutdown implements SpanProcessor. It returns the error of the next processor.
func (f *idleTraceFilter) Shutdown(ctx context.Context) error { return f.next.Shutdown(ctx) }

// ForceFlush implements SpanProcessor. It returns the error of the next processor.
func (f *idleTraceFilter) ForceFlush(ctx context.Context) error { return f.next.ForceFlush(ctx) }
