package decision

import (
	"context"
	"time"
)

// Event is one decision, for a log of decisions.
type Event struct {
	// ID identifies the decision; empty means that the log makes one.
	ID       string
	Point    string
	Revision string
	// RequestedBy is the address of the sender.
	RequestedBy string
	// Span is the span of the request, if it is part of a trace.
	Span Span
	Time time.Time
	// Input is the request and Result the decision, both JSON.
	Input, Result []byte
}

// Log records decisions for collectors. Implementations do not block.
type Log interface {
	Log(e Event)
}

// Observation is one decision on a request, for an Observer.
type Observation struct {
	Point    string
	Revision string
	// Endpoint is the pattern of the path that was asked, or the protocol if it has none.
	Endpoint string
	Outcome  Outcome
	// Took is the time from a valid request to its decision, Cached whether the decision
	// was kept from an earlier request.
	Took   time.Duration
	Cached bool
	// Matched are the rules that matched, the decisive one first.
	Matched []Matched
	// Input and Result return the request and the decision as JSON. They may be called
	// before Observe returns, and not later.
	Input, Result func() []byte
}

// Observer observes each decision on a request. Implementations do not block and keep
// none of an Observation's lists.
type Observer interface {
	Observe(o Observation)
}

// Span identifies the span of a request in its trace. The zero value is that of a request
// that is not traced.
type Span struct{ TraceID, SpanID string }

type spanKey struct{}

// WithSpan returns a context of a request that is traced.
func WithSpan(ctx context.Context, s Span) context.Context {
	return context.WithValue(ctx, spanKey{}, s)
}

// SpanOf returns the span of a request.
func SpanOf(ctx context.Context) Span {
	s, _ := ctx.Value(spanKey{}).(Span)
	return s
}

type idKey struct{}

// WithID returns a context of a decision that has an id.
func WithID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, idKey{}, id)
}

// IDOf returns the id of a decision, empty if it has none.
func IDOf(ctx context.Context) string {
	id, _ := ctx.Value(idKey{}).(string)
	return id
}
