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

	mu   sync.Mutex // held to read and write open and its traces
	open map[oteltrace.TraceID]*openTrace
}

// openTrace is a trace with roots that have not ended: a sender may trace several requests as
// one.
type openTrace struct {
	roots    int
	heldBack []sdktrace.ReadOnlySpan
}

func newIdleTraceFilter(next sdktrace.SpanProcessor) *idleTraceFilter {
	return &idleTraceFilter{next: next, open: make(map[oteltrace.TraceID]*openTrace)}
}

// isRoot reports whether a span is a root here: it has no parent, or a remote one.
func isRoot(span sdktrace.ReadOnlySpan) bool {
	parent := span.Parent()
	return !parent.IsValid() || parent.IsRemote()
}

// OnStart implements SpanProcessor.
func (f *idleTraceFilter) OnStart(ctx context.Context, span sdktrace.ReadWriteSpan) {
	if isRoot(span) {
		f.mu.Lock()
		id := span.SpanContext().TraceID()
		if f.open[id] == nil {
			f.open[id] = new(openTrace)
		}
		f.open[id].roots++
		f.mu.Unlock()
	}
	f.next.OnStart(ctx, span)
}

// OnEnd implements SpanProcessor.
func (f *idleTraceFilter) OnEnd(span sdktrace.ReadOnlySpan) {
	if !isRoot(span) {
		if !f.holdBack(span) {
			f.next.OnEnd(span)
		}
		return
	}
	children := f.endRoot(span.SpanContext().TraceID())
	if isIdle(span) {
		return
	}
	for _, child := range children {
		f.next.OnEnd(child)
	}
	f.next.OnEnd(span)
}

// holdBack keeps a span until a root of its trace ends. It returns false if none is open: what
// several requests share may end after the one that began it.
func (f *idleTraceFilter) holdBack(span sdktrace.ReadOnlySpan) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	trace := f.open[span.SpanContext().TraceID()]
	if trace == nil {
		return false
	}
	trace.heldBack = append(trace.heldBack, span)
	return true
}

// endRoot ends a root of a trace and returns the spans that were held back.
func (f *idleTraceFilter) endRoot(id oteltrace.TraceID) []sdktrace.ReadOnlySpan {
	f.mu.Lock()
	defer f.mu.Unlock()
	trace := f.open[id]
	children := trace.heldBack
	trace.heldBack = nil
	if trace.roots--; trace.roots == 0 {
		delete(f.open, id)
	}
	return children
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
