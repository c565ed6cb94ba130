package decision

import (
	"context"
	"log/slog"
	"strconv"
	"time"

	"github.com/google/uuid"
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
	// Input is the request and Result the decision, both JSON. Result may be empty.
	Input, Result []byte
	// Path is what was asked; empty is the entrypoint of the point. Custom is added to what
	// the log states of every event; nil adds nothing.
	Path   string
	Custom map[string]any
}

// Filter is the condition that an endpoint answered with: a decision about many rows.
type Filter struct {
	Point string
	// Access or Visibility is the request, of the point.
	Access     *Request
	Visibility *VisibilityRequest
	// Target is the language of the condition, Kind is never, conditional or always, and Hash
	// identifies the condition with its parameters.
	Target, Kind, Hash string
	// Path, Input, Result and Custom are those of its Event.
	Path          string
	Input, Result []byte
	Custom        map[string]any
}

// ValueCache caches values that are made of one revision. Policies with a cache implement it.
type ValueCache interface {
	// Value returns the value of a key, or makes it. What it returns is shared and must not
	// be modified. The error is that of make or of ctx.
	Value(ctx context.Context, key string, make func() (CachedValue, error)) (any, error)
}

// CachedValue is a value for a ValueCache.
type CachedValue struct {
	Value any
	// Bytes is the estimated size; zero is not kept.
	Bytes int
	// Expires is when the value ends before its revision does; zero means that it does not.
	Expires time.Time
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

// Trail records the decisions on one request, so that the log of requests names the events
// of the log of decisions. Its methods accept a nil receiver, which records nothing. It is
// not safe for concurrent use.
type Trail struct {
	id      string
	count   int
	outcome Outcome // of the first
}

type trailKey struct{}

// WithTrail returns a context of a request, whose decisions are recorded, and its trail. A
// context that has a trail is returned.
func WithTrail(ctx context.Context) (context.Context, *Trail) {
	if t := TrailOf(ctx); t != nil {
		return ctx, t
	}
	t := &Trail{id: uuid.NewString()}
	return context.WithValue(ctx, trailKey{}, t), t
}

// TrailOf returns the trail of a request, nil if it has none.
func TrailOf(ctx context.Context) *Trail {
	t, _ := ctx.Value(trailKey{}).(*Trail)
	return t
}

// ID returns the id of the first decision, whether or not it is made yet.
func (t *Trail) ID() string { return t.id }

// Add records a decision and returns its id, empty without a trail. The ids of further
// decisions begin with that of the first.
func (t *Trail) Add(o Outcome) string {
	if t == nil {
		return ""
	}
	if t.count++; t.count > 1 {
		return t.id + "-" + strconv.Itoa(t.count)
	}
	t.outcome = o
	return t.id
}

// Attributes describe the decisions in a line of a log: id and outcome of one, the first id
// and the count of several, nothing without a decision.
func (t *Trail) Attributes() []slog.Attr {
	switch {
	case t == nil || t.count == 0:
		return nil
	case t.count == 1:
		return []slog.Attr{slog.String("decision", t.id), slog.String("outcome", t.outcome.String())}
	}
	return []slog.Attr{slog.String("decision", t.id), slog.Int("decisions", t.count)}
}
