// Package exchange holds what the endpoints of all protocols share: reading a request
// and its body within bounds, loading the active revision, deciding in time, and
// writing the answer or the refusal. A protocol adds the form of its requests and
// answers. The package knows no protocol, no router and no document.
//
// Not part of the promised API; see package writ.
//
// # Design
//
// A protocol's function returns the bytes of an answer or a Refusal and never writes
// to the connection, so each request is answered exactly once, and a protocol is tested
// without a server. A body is checked once and then cut into pieces (decision.Value),
// never decoded into a tree and encoded again.
package exchange

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/writ-policy/writ/server/auth"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/memory"
	"github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/server/point"
)

// Options configure a Service. Metrics, Logger, MaxBody, MaxInFlight and
// Timeout are required.
type Options struct {
	// Current returns the policies of the active revision. It is called once a request.
	// Without it no endpoint may answer from a revision.
	Current func() decision.Policies
	// Rule is who may ask on the listener.
	Rule    auth.Rule
	Metrics *metrics.Metrics
	Logger  *slog.Logger
	// Log records decisions; nil records none.
	Log decision.Log
	// Observer observes decisions; nil observes none.
	Observer decision.Observer
	// MaxBody is the largest body in bytes.
	MaxBody int64
	// MaxValues is how many JSON values a body, or a line of a stream, may have; zero is
	// unlimited. Values is the budget of values of all requests together; nil is
	// unlimited.
	MaxValues int
	Values    *memory.Budget
	// MaxInFlight is how many requests for decisions are answered at a time.
	MaxInFlight int
	// Timeout bounds a decision.
	Timeout time.Duration
}

// Service is what endpoints share. It is safe for concurrent use.
type Service struct {
	Options
	// Guard reports panics.
	Guard point.Guard

	inFlight Limiter // of requests that are being decided
	bodies   *memory.Budget
	large    Limiter // of those whose body is large, from the reading on
	listing  Limiter // of those that list
	revision atomic.Pointer[revisionHeader]
}

// New returns a Service.
func New(o Options) *Service {
	if o.Values == nil {
		o.Values = new(memory.Budget)
	}
	return &Service{Options: o, Guard: point.Guard{Metrics: o.Metrics, Logger: o.Logger}, bodies: memory.NewBudget(MaxBodies)}
}

// Decision is an endpoint that takes a JSON body and answers with a decision.
type Decision struct {
	// Form writes refusals.
	Form Form
	// Check, if set, refuses a request before its body is read.
	Check func(*http.Request) *Refusal
	// BodyIsOptional accepts a request without a body, which is then the empty Value.
	BodyIsOptional bool
	// Answer gets the policies of the request, the body, checked to be JSON, and an
	// empty buffer, to which it may append the answer. At most MaxInFlight of them run
	// at a time.
	Answer func(r *http.Request, p decision.Policies, body decision.Value, b []byte) ([]byte, *Refusal)
}

// Decision returns the handler of e. It reads the body, and only then takes one of the
// places for decisions: a slow sender must not keep others out. It loads the active
// revision when it has the whole request.
func (s *Service) Decision(e Decision) http.HandlerFunc {
	return s.serve(&e, func(w http.ResponseWriter, r *http.Request, p decision.Policies, body decision.Value, b *buffer) (refused *Refusal) {
		if b.bytes, refused = e.Answer(r, p, body, b.bytes); refused == nil {
			Write(w, http.StatusOK, JSON, b.bytes)
		}
		return refused
	})
}

// serve returns a handler that does what Decision says, and answers with what answer
// writes or refuses.
func (s *Service) serve(e *Decision, answer func(http.ResponseWriter, *http.Request, decision.Policies, decision.Value, *buffer) *Refusal) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if s.inFlight.isFull(s.MaxInFlight) {
			s.Refuse(w, e.Form, tooManyRequests) // without reading it
			return
		}
		if e.Check != nil {
			if refused := e.Check(r); refused != nil {
				s.Refuse(w, e.Form, refused)
				return
			}
		}
		b := buffers.Get().(*buffer)
		defer s.release(b)
		body, refused := s.parse(r, b, e.BodyIsOptional)
		if refused != nil {
			s.Refuse(w, e.Form, refused)
			return
		}
		if !s.inFlight.Acquire(s.MaxInFlight) {
			s.Refuse(w, e.Form, tooManyRequests)
			return
		}
		defer s.inFlight.Release()
		policies, refused := s.Policies(w, r)
		if refused == nil {
			refused = answer(w, r, policies, body, b)
		}
		if refused != nil {
			s.Refuse(w, e.Form, refused)
		}
	}
}

// List is an endpoint without a body that may go through all documents or principals.
type List struct {
	// Form writes refusals.
	Form Form
	// Check, if set, refuses a request before anything else.
	Check func(*http.Request) *Refusal
	// Answer returns the answer as JSON. At most MaxListing of them run at a time.
	Answer func(*http.Request, decision.Policies) ([]byte, *Refusal)
}

// MaxListing is how many lists are made at a time: many of them must not starve the
// decisions.
const MaxListing = 4

// List returns the handler of e.
func (s *Service) List(e List) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		answer, refused := s.list(w, r, &e)
		if refused != nil {
			s.Refuse(w, e.Form, refused)
			return
		}
		Write(w, http.StatusOK, JSON, answer)
	}
}

func (s *Service) list(w http.ResponseWriter, r *http.Request, e *List) (answer []byte, refused *Refusal) {
	if e.Check != nil {
		if refused := e.Check(r); refused != nil {
			return nil, refused
		}
	}
	policies, refused := s.Policies(w, r)
	if refused != nil {
		return nil, refused
	}
	refused = s.Listing(func() *Refusal {
		answer, refused = e.Answer(r, policies)
		return refused
	})
	return answer, refused
}

// Listing calls list in one of MaxListing places. It returns tooManyRequests if there
// is none.
func (s *Service) Listing(list func() *Refusal) *Refusal {
	if !s.listing.Acquire(MaxListing) {
		return tooManyRequests
	}
	defer s.listing.Release()
	return list()
}

// Lend calls f without the place for decisions that the caller's request holds, so that
// the requests that f causes find one. The request has a place again afterwards, even
// beyond the limit: it must not wait for a place that its own requests hold.
func (s *Service) Lend(f func()) {
	s.inFlight.Release()
	defer s.inFlight.held.Add(1)
	f()
}

// Decide decides a request at any point, within the time its caller leaves.
func Decide[D point.Decision[D]](s *Service, r *http.Request, counter *metrics.Point, failed func(cause string) D, evaluate func(context.Context) (D, *decision.InvalidRequest)) (D, time.Duration, *decision.InvalidRequest) {
	return point.Decide(r.Context(), &s.Guard, counter, s.Budget(r), failed, evaluate)
}

// Decided records a decision on a request. It sets what o has of the request itself.
func (s *Service) Decided(r *http.Request, p decision.Policies, o decision.Observation) {
	o.Revision, o.Endpoint = p.Revision(), r.Pattern
	if s.Observer != nil {
		s.Observer.Observe(o)
	}
	if s.Log != nil {
		s.Log.Log(decision.Event{
			ID: decision.IDOf(r.Context()), Point: o.Point, Revision: o.Revision, RequestedBy: r.RemoteAddr,
			Span: decision.SpanOf(r.Context()), Time: time.Now(), Input: o.Input(), Result: o.Result(),
		})
	}
}

// Budget is how long a decision may take: Timeout, or less where the caller states with
// ?timeout= when it gives up. A tenth of that is left for the way back: a denial that
// comes too late has no effect.
func (s *Service) Budget(r *http.Request) time.Duration {
	query := r.URL.RawQuery
	if query == "" {
		return s.Timeout
	}
	for pair := range strings.SplitSeq(query, "&") {
		if text, ok := strings.CutPrefix(pair, "timeout="); ok {
			if bound, err := time.ParseDuration(text); err == nil && bound > 0 {
				return min(s.Timeout, bound-bound/10)
			}
		}
	}
	return s.Timeout
}

// Admit checks who sends a request to an endpoint of a role. It returns the request with
// its caller, which auth.CallerOf returns.
func (s *Service) Admit(w http.ResponseWriter, r *http.Request, role auth.Role) (*http.Request, *Refusal) {
	switch {
	case !s.Rule.AnswersFor(r.Host):
		return r, misdirected
	case auth.IsCrossSite(r.Header, r.Host):
		return r, crossSite
	}
	caller, err := s.Rule.Admit(r.Context(), auth.Credentials{Authorization: r.Header["Authorization"], TLS: r.TLS}, role)
	switch {
	case err == nil && caller == nil:
		return r, nil
	case err == nil:
		return r.WithContext(auth.WithCaller(r.Context(), caller)), nil
	}
	s.Logger.InfoContext(r.Context(), "a caller was not accepted", "from", r.RemoteAddr, "error", err)
	switch {
	case errors.Is(err, auth.ErrRole):
		return r, forbidden
	case errors.Is(err, auth.ErrUnavailable):
		return r, unavailable
	case errors.Is(err, auth.ErrConnection):
		w.Header().Set("Connection", "close")
	}
	return r, Unauthorized
}

// Limiter bounds how many requests do something at a time. The zero value is ready.
type Limiter struct{ held atomic.Int64 }

// Acquire takes a place and reports whether there was one.
func (l *Limiter) Acquire(most int) bool {
	if l.held.Add(1) > int64(most) {
		l.held.Add(-1)
		return false
	}
	return true
}

// Release gives a place back.
func (l *Limiter) Release() { l.held.Add(-1) }

// isFull reports whether Acquire would fail at this instant.
func (l *Limiter) isFull(most int) bool { return l.held.Load() >= int64(most) }
