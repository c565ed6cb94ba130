package api

import (
	"net/http"
	"sync"

	"github.com/writ-policy/writ/server/api/access"
	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/decision"
)

// answerer answers canonical requests at a point, by one revision. What it allocates for a
// request that a cache answers is used again.
type answerer struct {
	canonical *canonical
	request   *http.Request
	p         decision.Policies
	point     decision.Point
	series    *exchange.Series
	asked     *access.Asked  // nil before the first request at the access point
	input     decision.Value // of another point, as it was sent
	inputText func() []byte
}

var answerers = sync.Pool{New: func() any {
	a := new(answerer)
	a.inputText = func() []byte { return a.input.Bytes() }
	return a
}}

// begin returns what answers requests at a point. Its caller calls End.
func (s *canonical) begin(r *http.Request, p decision.Policies, point decision.Point) *answerer {
	a := answerers.Get().(*answerer)
	a.canonical, a.request, a.p, a.point = s, r, p, point
	a.series = s.service.Begin(r, p, point.Name)
	return a
}

// End implements exchange.Answerer.
func (a *answerer) End() {
	a.series.End()
	if a.asked != nil {
		a.asked.Release()
	}
	a.canonical, a.request, a.p, a.series, a.input = nil, nil, nil, nil, decision.Value{}
	answerers.Put(a)
}

// Restart implements exchange.Answerer.
func (a *answerer) Restart() { a.series.Restart() }

// Answer implements exchange.Answerer.
func (a *answerer) Answer(request decision.Value, b []byte) ([]byte, *exchange.Refusal) {
	d, invalid := a.decide(request)
	if invalid != nil {
		return b, exchange.InvalidBody(invalid)
	}
	return append(d.AppendJSON(b), '\n'), nil
}

// decide decides a request at any point and returns the decision as JSON.
func (s *canonical) decide(r *http.Request, p decision.Policies, point decision.Point, request decision.Value) ([]byte, *decision.InvalidRequest) {
	a := s.begin(r, p, point)
	defer a.End()
	d, invalid := a.decide(request)
	if invalid != nil {
		return nil, invalid
	}
	return d.AppendJSON(nil), nil
}

func (a *answerer) decide(request decision.Value) (decision.Answer, *decision.InvalidRequest) {
	if a.point.Name == decision.Access {
		return a.decideAccess(request)
	}
	return a.decideOther(request)
}

// decideAccess decides a request at the access point.
func (a *answerer) decideAccess(request decision.Value) (decision.Answer, *decision.InvalidRequest) {
	asked := a.asked
	if a.asked = nil; asked == nil {
		asked = access.NewAsked()
	}
	if err := asked.Request.Read(request); err != nil {
		return nil, decision.AsInvalidRequest(err)
	}
	d := a.canonical.decider.DecideIn(a.series, a.request, a.p, asked)
	if d.Cached { // an evaluation may go on after its answer
		a.asked = asked
	}
	return d, nil
}

// decideOther decides a request at another point, with what this server adds to it.
func (a *answerer) decideOther(request decision.Value) (decision.Answer, *decision.InvalidRequest) {
	q, err := a.point.Parse(request)
	if err != nil {
		return nil, decision.AsInvalidRequest(err)
	}
	v, isVisibility := q.(*decision.VisibilityRequest)
	if isVisibility {
		a.canonical.addLabels(v)
	}
	a.input = request
	d, invalid := a.series.Decide(q, a.inputText)
	if isVisibility && invalid == nil {
		a.canonical.logSteps(a.request.Context(), a.p, v, d.(*decision.VisibilityDecision))
	}
	return d, invalid
}
