// Package progress reports how far long work has come. Workers start spans through a
// context; observers (metrics, traces, a terminal) subscribe through the same context.
// The package knows neither workers nor observers. Without observers a span is nil and
// costs nothing.
//
// # Design
//
// The work is spread over packages that do not know each other: a fetch is in a source, a
// compilation in the engine. A context reaches all of them, and one kind of observer serves
// every purpose. Two alternatives were rejected. Hooks in the options of each package would
// have to pass through every layer, and metrics and traces would measure different times.
// OpenTelemetry's own spans are sampled: a sampler set for traces would silence metrics and
// the terminal too, and every package would depend on the SDK.
package progress

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
)

// Name is the name of a span. The set is closed, because names are metric labels.
type Name string

// Operations, which contain steps.
const (
	Reload   Name = "reload"   // documents, from reading to serving them
	Deliver  Name = "deliver"  // a built bundle, from requesting to serving it
	Restore  Name = "restore"  // the state that was stored before a restart
	Rollback Name = "rollback" // to a stored revision
)

// Steps of operations.
const (
	Wait      Name = "wait"      // a long poll
	Snapshot  Name = "snapshot"  // read documents
	Fetch     Name = "fetch"     // download a commit or a bundle
	Read      Name = "read"      // read a bundle and verify its signature
	Translate Name = "translate" // documents to tables to files
	Build     Name = "build"     // files to a bundle
	Check     Name = "check"     // compile a bundle without serving it
	Activate  Name = "activate"  // load a bundle into the engine
	Verify    Name = "verify"    // prove assertions
	Keep      Name = "keep"      // store a bundle for the next start
)

// Work of commands, neither operation nor step.
const (
	Answer Name = "answer" // requests
	Test   Name = "test"   // cases
	Search Name = "search" // all requests, for those that a question is about
	Replay Name = "replay" // recorded requests
	Push   Name = "push"   // a bundle, to a registry
)

// Request is a request to another server, part of an operation, of a request that is answered
// or of neither.
const Request Name = "request"

// Steps lists the names of all steps in the order in which they run.
var Steps = []Name{Wait, Snapshot, Fetch, Read, Translate, Build, Check, Activate, Verify, Keep}

// Attribute names a fact about a span.
type Attribute string

// Attributes of spans. Values are of type string or int.
const (
	Source    Attribute = "source" // documents, bundle, state or rollback
	Revision  Attribute = "revision"
	Commit    Attribute = "commit"
	Sequence  Attribute = "sequence"
	Documents Attribute = "documents"
	Files     Attribute = "files"
	Outcome   Attribute = "outcome"  // activated, unchanged or refused
	Errors    Attribute = "errors"   // number of error diagnostics
	Warnings  Attribute = "warnings" // number of warnings

	Method Attribute = "method" // of a Request
	Host   Attribute = "host"   // of a Request
	Port   Attribute = "port"   // of a Request, if its URL has one
	Status Attribute = "status" // of the answer to a Request
)

// Unchanged is the Outcome of an operation that had nothing to do.
const Unchanged = "unchanged"

// Observer receives spans. Implementations must be safe for concurrent use.
type Observer interface {
	// Start is called when a span starts. Spans that start in the returned context are
	// children of this one.
	Start(ctx context.Context, s *Span) (context.Context, SpanObserver)
}

// SpanObserver receives the rest of one span, from one goroutine at a time.
type SpanObserver interface {
	// Set receives an attribute: a string or an integer.
	Set(key Attribute, value any)
	// End receives the error that the work returned. It is the last call.
	End(err error)
}

// Span is one piece of work in progress. All methods accept a nil receiver and then do
// nothing.
type Span struct {
	Name      Name
	done      atomic.Int64
	unit      atomic.Pointer[string]
	observers []SpanObserver
}

type observersKey struct{}

type spanKey struct{}

// WithObservers returns a context whose spans are reported to observers, besides the
// observers of ctx. Nil observers are ignored.
func WithObservers(ctx context.Context, observers ...Observer) context.Context {
	all, _ := ctx.Value(observersKey{}).([]Observer)
	all = slices.Clip(all)
	for _, o := range observers {
		if o != nil {
			all = append(all, o)
		}
	}
	return context.WithValue(ctx, observersKey{}, all)
}

// Start starts a span as a child of the span in ctx. The span is nil if ctx has no
// observers; otherwise the caller must call End.
func Start(ctx context.Context, name Name) (context.Context, *Span) {
	observers, _ := ctx.Value(observersKey{}).([]Observer)
	if len(observers) == 0 {
		return ctx, nil
	}
	s := &Span{Name: name}
	for _, o := range observers {
		var started SpanObserver
		ctx, started = o.Start(ctx, s)
		s.observers = append(s.observers, started)
	}
	return context.WithValue(ctx, spanKey{}, s), s
}

// Do runs step within a span and returns its error. The span also ends if step panics.
func Do(ctx context.Context, name Name, step func(context.Context) error) error {
	ctx, s := Start(ctx, name)
	ended := false
	defer func() {
		if !ended { // the panic continues to the caller, which reports its cause
			s.End(errPanic)
		}
	}()
	err := step(ctx)
	ended = true
	s.End(err)
	return err
}

// errPanic ends the span of a step that panicked.
var errPanic = errors.New("panic")

// FromContext returns the innermost span in ctx, nil without a span.
func FromContext(ctx context.Context) *Span {
	s, _ := ctx.Value(spanKey{}).(*Span)
	return s
}

// Count adds n finished items. The unit is plural: bytes, files. Count is safe for
// concurrent use.
func (s *Span) Count(n int64, unit string) {
	if s == nil {
		return
	}
	s.done.Add(n)
	if last := s.unit.Load(); last == nil || *last != unit {
		stored := unit // storing &unit would allocate on every call, also with a nil span
		s.unit.Store(&stored)
	}
}

// Done returns the number of finished items and their unit, which is empty before the
// first Count. Done is safe for concurrent use.
func (s *Span) Done() (n int64, unit string) {
	if s == nil {
		return 0, ""
	}
	if u := s.unit.Load(); u != nil {
		unit = *u
	}
	return s.done.Load(), unit
}

// Set reports an attribute of the span.
func (s *Span) Set(key Attribute, value any) {
	if s == nil {
		return
	}
	for _, o := range s.observers {
		o.Set(key, value)
	}
}

// End ends the span; err is the error of the work, nil if it succeeded.
func (s *Span) End(err error) {
	if s == nil {
		return
	}
	for _, o := range s.observers {
		o.End(err)
	}
}
