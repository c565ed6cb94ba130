package exchange

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/point"
)

// Series decides questions of one request at a point, one after the other, with what the
// first one allocated.
type Series struct {
	service *Service
	request *http.Request
	p       decision.Policies
	at      string
	timed   point.Series

	question decision.Question
	answer   decision.Answer
	// The methods of the series, bound once.
	evaluate func(context.Context) (decision.Answer, *decision.InvalidRequest)
	failed   func(cause string) decision.Answer
	result   func() []byte
}

var allSeries = sync.Pool{New: func() any {
	s := new(Series)
	s.evaluate = func(ctx context.Context) (decision.Answer, *decision.InvalidRequest) {
		return s.question.Decide(ctx, s.p)
	}
	s.failed = func(cause string) decision.Answer { return s.question.Failed(cause) }
	s.result = func() []byte { return s.answer.AppendJSON(nil) }
	return s
}}

// Begin begins a series at a point. Its caller calls End.
func (s *Service) Begin(r *http.Request, p decision.Policies, at string) *Series {
	x := allSeries.Get().(*Series)
	x.service, x.request, x.p, x.at = s, r, p, at
	x.timed.Begin(r.Context(), &s.Guard, s.Counter(at), s.Budget(r))
	return x
}

// End ends the series, which must not be used afterwards.
func (s *Series) End() {
	s.timed.Release()
	s.service, s.request, s.p, s.question, s.answer = nil, nil, nil, nil, nil
	allSeries.Put(s)
}

// Restart leaves out the time since the last decision.
func (s *Series) Restart() { s.timed.Restart() }

// Decide is Series.Decide for one question.
func (s *Service) Decide(r *http.Request, p decision.Policies, at string, q decision.Question, input func() []byte) (decision.Answer, *decision.InvalidRequest) {
	x := s.Begin(r, p, at)
	defer x.End()
	return x.Decide(q, input)
}

// Decide decides a question within the Budget of the request. It counts the outcome and
// records the decision, with the input as it is then.
func (s *Series) Decide(q decision.Question, input func() []byte) (decision.Answer, *decision.InvalidRequest) {
	s.question = q
	d, of, invalid := point.Decide(&s.timed, s.failed, s.evaluate)
	if invalid != nil {
		return d, invalid
	}
	s.answer = d
	x, ctx := s.service, s.request.Context()
	if x.Observer != nil {
		matched, cached := d.DecidedBy()
		x.Observer.Observe(decision.Observation{
			Point: s.at, Revision: s.p.Revision(), Endpoint: s.request.Pattern, Outcome: of.Outcome, Took: of.Took, Cached: cached, Matched: matched,
			Input: input, Result: s.result,
		})
	}
	var id string
	if x.Log != nil || x.Logger.Enabled(ctx, slog.LevelDebug) {
		id = decision.TrailOf(ctx).Add(of.Outcome)
	}
	if x.Log != nil {
		x.Log.Log(decision.Event{
			ID: id, Point: s.at, Revision: s.p.Revision(), RequestedBy: s.request.RemoteAddr,
			Span: decision.SpanOf(ctx), Time: time.Now(), Input: input(), Result: s.result(),
		})
	}
	return d, nil
}
