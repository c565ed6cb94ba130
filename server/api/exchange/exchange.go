package exchange

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/writ-policy/writ/internal/limits"
	"github.com/writ-policy/writ/server/auth"
	"github.com/writ-policy/writ/server/decision"
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
	// Log records decisions, and Observer observes them; both may be nil.
	Log      decision.Log
	Observer decision.Observer
	// Filters records filters for the audit; nil records none.
	Filters FilterRecorder
	// MaxBody is the largest body in bytes.
	MaxBody int64
	// MaxValues is how many JSON values a body, or a line of a stream, may have, and Values
	// the budget of values of all requests together; zero and nil are unlimited.
	MaxValues int
	Values    *limits.Budget
	// MaxInFlight is how many requests for decisions are answered at a time.
	MaxInFlight int
	// Timeout bounds a decision.
	Timeout time.Duration
}

// FilterRecorder records filters for the audit.
type FilterRecorder interface {
	// RecordFilter does not keep the filter.
	RecordFilter(ctx context.Context, f *decision.Filter)
}

// Service is what endpoints share. It is safe for concurrent use.
type Service struct {
	Options
	// Guard reports panics and decisions.
	Guard point.Guard

	inFlight *limits.Budget // of requests that are being decided
	bodies   *limits.Budget
	large    *limits.Budget // of requests whose body is large, from the reading on
	listing  *limits.Budget // of requests that list
	answers  *limits.Budget // in bytes, of answers that are being sent
	revision atomic.Pointer[revisionHeader]
	counters map[string]*metrics.Point // by point
}

// New returns a Service.
func New(o Options) *Service {
	if o.Values == nil {
		o.Values = new(limits.Budget)
	}
	counters := make(map[string]*metrics.Point)
	for _, p := range decision.Points() {
		counters[p.Name] = o.Metrics.Point(p.Name)
	}
	return &Service{
		Options: o, Guard: point.Guard{Metrics: o.Metrics, Logger: o.Logger, Log: o.Log, Observer: o.Observer}, counters: counters,
		inFlight: limits.NewBudget(int64(o.MaxInFlight)), bodies: limits.NewBudget(MaxBodies),
		large: limits.NewBudget(MaxLarge), listing: limits.NewBudget(MaxListing),
		answers: limits.NewReserved(maxAnswers, largeAnswer),
	}
}

// Decision is an endpoint that takes a JSON body and answers with a decision.
type Decision struct {
	// Form writes refusals.
	Form Form
	// Check, if set, refuses a request before its body is read.
	Check func(*http.Request) *Refusal
	// BodyIsOptional accepts a request without a body, which is then the empty Value.
	BodyIsOptional bool
	// IsList states that a body is a list of any length: its values are bounded by MaxBody
	// and Values, and not by MaxValues.
	IsList bool
	// InPlace lends memory to the body: Answer calls Done on it if nothing keeps its texts.
	InPlace bool
	// Media is the content type of an answer; nil means JSON.
	Media func(*http.Request) []string
	// Answer gets the policies of the request, the body, checked to be JSON and valid until
	// Answer returns, and an empty buffer, to which it may append the answer. At most
	// MaxInFlight of them run at a time.
	Answer func(r *http.Request, p decision.Policies, body decision.Value, b []byte) ([]byte, *Refusal)
}

// Decision returns the handler of e. It reads the body, and only then takes one of the
// places for decisions: a slow sender must not keep others out. It gives the place back before
// the answer is sent: nor must a slow reader. It loads the active revision when it has the whole
// request.
func (s *Service) Decision(e Decision) http.HandlerFunc {
	return s.serve(&e, func(_ http.ResponseWriter, r *http.Request, p decision.Policies, body decision.Value, b *buffer) (refused *Refusal) {
		if b.answer, refused = e.Answer(r, p, body, b.answer); refused == nil {
			b.media = JSON
			if e.Media != nil {
				b.media = e.Media(r)
			}
		}
		return refused
	})
}

// answering refuses an answer, or leaves it, or the rest of it, in the buffer to be sent.
type answering func(http.ResponseWriter, *http.Request, decision.Policies, decision.Value, *buffer) *Refusal

// serve returns a handler that does what Decision says.
func (s *Service) serve(e *Decision, answer answering) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if s.inFlight.Held() >= int64(s.MaxInFlight) {
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
		defer b.release()
		refused := s.answerBody(w, r, b, e, answer)
		switch {
		case refused != nil:
			s.Refuse(w, e.Form, refused)
		case b.isBegun:
			_ = s.sendPiece(w, b.answer) // the caller may have left
		default:
			s.Send(w, e.Form, b.media, b.answer)
		}
	}
}

// answerBody reads the body of a request and answers it. What the body is charged ends with that.
func (s *Service) answerBody(w http.ResponseWriter, r *http.Request, b *buffer, e *Decision, answer answering) *Refusal {
	defer s.releaseBody(b)
	body, refused := s.parse(r, b, e)
	if refused != nil {
		return refused
	}
	return s.inPlace(w, r, body, b, answer)
}

// inPlace answers by the active revision, in one of the places for decisions.
func (s *Service) inPlace(w http.ResponseWriter, r *http.Request, body decision.Value, b *buffer, answer answering) *Refusal {
	if !s.inFlight.Acquire(1) {
		return tooManyRequests
	}
	defer s.inFlight.Release(1)
	policies, refused := s.Policies(w, r)
	if refused != nil {
		return refused
	}
	return answer(w, r, policies, body, b)
}

// Policies loads the active revision, once a request, and checks the request's
// preconditions. The answer names the revision, a refusal as well.
func (s *Service) Policies(w http.ResponseWriter, r *http.Request) (decision.Policies, *Refusal) {
	policies := s.Current()
	return policies, s.Require(w, r, policies.Loaded())
}

// Require checks the request's preconditions on the revision that answers it, and names the
// revision in the answer.
func (s *Service) Require(w http.ResponseWriter, r *http.Request, of *decision.Loaded) *Refusal {
	s.setRevision(w.Header(), of.Revision)
	required, refused := readPrecondition(r.Header)
	if refused == nil {
		refused = required.check(of)
	}
	return refused
}

// Counter returns the counters of a point.
func (s *Service) Counter(point string) *metrics.Point { return s.counters[point] }

// Begin begins a series of decisions at a point, each within the Budget of the request. Its
// caller calls End.
func (s *Service) Begin(r *http.Request, p decision.Policies, at string) *point.Series {
	return s.Guard.Begin(r.Context(), point.Asked{
		Policies: p, Point: at, Counter: s.Counter(at), Endpoint: r.Pattern, From: r.RemoteAddr, Within: s.Budget(r),
	})
}

// IsRecorded reports whether filters are recorded.
func (s *Service) IsRecorded() bool { return s.Log != nil || s.Filters != nil }

// Filtered records a filter by p.
func (s *Service) Filtered(r *http.Request, p decision.Policies, f *decision.Filter) {
	if s.Filters != nil {
		s.Filters.RecordFilter(r.Context(), f)
	}
	if s.Log != nil {
		s.Log.Log(decision.Event{
			Point: f.Point, Revision: p.Loaded().Revision, RequestedBy: r.RemoteAddr, Span: decision.SpanOf(r.Context()), Time: time.Now(),
			Input: f.Input, Result: f.Result, Path: f.Path, Custom: f.Custom,
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
	case !s.Rule.IsProxied && auth.IsCrossSite(r.Header, r.Host):
		return r, crossSite
	case isUndeclared(r):
		return r, undeclared
	}
	caller, err := s.Rule.Admit(r.Context(), credentialsOf(r), role)
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

func credentialsOf(r *http.Request) auth.Credentials {
	return auth.Credentials{Authorization: r.Header["Authorization"], TLS: r.TLS, Header: r.Header}
}
