package trace

import (
	"context"
	"sync"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/writ-policy/writ/translator/progress"
)

// sieve holds the spans of a piece of work back until the whole has ended, and lets
// none of them through where it had nothing to do.
type sieve struct {
	next sdktrace.SpanProcessor

	mu   sync.Mutex // held to read and write held
	held map[oteltrace.TraceID][]sdktrace.ReadOnlySpan
}

func newSieve(next sdktrace.SpanProcessor) *sieve {
	return &sieve{next: next, held: make(map[oteltrace.TraceID][]sdktrace.ReadOnlySpan)}
}

func (s *sieve) OnStart(ctx context.Context, span sdktrace.ReadWriteSpan) { s.next.OnStart(ctx, span) }

func (s *sieve) OnEnd(span sdktrace.ReadOnlySpan) {
	id := span.SpanContext().TraceID()
	if parent := span.Parent(); parent.IsValid() && !parent.IsRemote() {
		s.mu.Lock()
		s.held[id] = append(s.held[id], span)
		s.mu.Unlock()
		return
	}
	s.mu.Lock()
	steps := s.held[id]
	delete(s.held, id)
	s.mu.Unlock()
	if idle(span) {
		return
	}
	for _, step := range steps {
		s.next.OnEnd(step)
	}
	s.next.OnEnd(span)
}

func idle(span sdktrace.ReadOnlySpan) bool {
	for _, a := range span.Attributes() {
		if string(a.Key) == prefix+string(progress.Outcome) {
			return a.Value.AsString() == progress.Unchanged
		}
	}
	return false
}

func (s *sieve) Shutdown(ctx context.Context) error   { return s.next.Shutdown(ctx) }
func (s *sieve) ForceFlush(ctx context.Context) error { return s.next.ForceFlush(ctx) }
