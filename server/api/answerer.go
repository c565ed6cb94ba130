package api

import (
	"context"
	"net/http"
	"sync"

	"github.com/writ-policy/writ/server/api/access"
	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/point"
)

// answerer answers canonical requests at a point, by one revision. What it allocates for a
// request that a cache answers is used again.
type answerer struct {
	canonical *canonical
	request   *http.Request
	p         decision.Policies
	point     decision.Point
	series    *point.Series
	// What is asked at each point; nil before the first request there.
	access     *access.Asked
	visibility *askedVisibility
	gateway    *askedGateway
	input      decision.Value              // as it was sent
	asked      *decision.VisibilityRequest // that input was read to, nil at other points
	inUse      int                         // of the requests, those whose texts may be in use after their answer
	inputText  func() []byte
}

// askedVisibility is a request with room for its decision.
type askedVisibility struct {
	decision.VisibilityRequest
	answer decision.VisibilityDecision
}

// Decide implements decision.Question.
func (q *askedVisibility) Decide(ctx context.Context, p decision.Policies) (decision.Answer, *decision.InvalidRequest) {
	r := &q.VisibilityRequest
	q.answer = decision.DecideVisibility(ctx, p, r, p.Visibility(ctx, r))
	return &q.answer, nil
}

// askedGateway is a request with room for its decision.
type askedGateway struct {
	decision.GatewayRequest
	answer decision.GatewayDecision
}

// Decide implements decision.Question.
func (q *askedGateway) Decide(ctx context.Context, p decision.Policies) (decision.Answer, *decision.InvalidRequest) {
	var invalid *decision.InvalidRequest
	q.answer, invalid = p.Gateway(ctx, &q.GatewayRequest)
	return &q.answer, invalid
}

var answerers = sync.Pool{New: func() any {
	a := new(answerer)
	a.inputText = func() []byte {
		if a.asked != nil {
			return a.asked.Input(a.input)
		}
		return a.input.Bytes()
	}
	return a
}}

// endpoint returns the endpoint of a point.
func (s *canonical) endpoint(point decision.Point) exchange.Decision {
	return exchange.Decision{
		Form: exchange.Problem, Check: exchange.CheckJSON, InPlace: true,
		Answer: func(r *http.Request, p decision.Policies, body decision.Value, b []byte) ([]byte, *exchange.Refusal) {
			a := s.begin(r, p, point)
			defer a.End()
			return a.Answer(body, b)
		},
	}
}

// begin returns what answers requests at a point. Its caller calls End.
func (s *canonical) begin(r *http.Request, p decision.Policies, at decision.Point) *answerer {
	a := answerers.Get().(*answerer)
	a.canonical, a.request, a.p, a.point = s, r, p, at
	a.series = s.service.Begin(r, p, at.Name)
	return a
}

// End implements exchange.Answerer.
func (a *answerer) End() {
	a.series.End()
	if a.inUse == 0 {
		a.input.Done()
	}
	if a.access != nil {
		a.access.Release()
	}
	if a.visibility != nil {
		*a.visibility = askedVisibility{VisibilityRequest: decision.VisibilityRequest{Groups: access.Room(a.visibility.Groups)}}
	}
	if a.gateway != nil {
		*a.gateway = askedGateway{}
	}
	a.canonical, a.request, a.p, a.series, a.input, a.asked, a.inUse = nil, nil, nil, nil, decision.Value{}, nil, 0
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
	a.input, a.asked = request, nil
	a.inUse++
	switch a.point.Name {
	case decision.Access:
		return a.decideAccess(request)
	case decision.Visibility:
		return a.decideVisibility(request)
	case decision.Gateway:
		return a.decideGateway(request)
	}
	q, err := a.point.Parse(request, a.canonical.decider.Labels)
	if err != nil {
		return nil, decision.AsInvalidRequest(err)
	}
	return a.series.Decide(q, a.inputText)
}

// take returns what is in a place, or something new, and leaves the place empty: an evaluation
// may go on after its answer, so that only what a cache answered is put back.
func take[Q any](place **Q, make func() *Q) *Q {
	q := *place
	if *place = nil; q == nil {
		return make()
	}
	return q
}

func (a *answerer) decideAccess(request decision.Value) (decision.Answer, *decision.InvalidRequest) {
	q := take(&a.access, access.NewAsked)
	if err := q.Request.Read(request); err != nil {
		return nil, decision.AsInvalidRequest(err)
	}
	d := a.canonical.decider.DecideIn(a.series, a.request, a.p, q)
	if d.Cached {
		if a.access = q; !d.Denied && len(d.Pods) == 0 { // metrics and audit keep texts of the others
			a.inUse--
		}
	}
	return d, nil
}

func (a *answerer) decideVisibility(request decision.Value) (decision.Answer, *decision.InvalidRequest) {
	q := take(&a.visibility, func() *askedVisibility { return new(askedVisibility) })
	if err := q.Read(request, a.canonical.decider.Labels); err != nil {
		return nil, decision.AsInvalidRequest(err)
	}
	a.asked = &q.VisibilityRequest
	answer, _ := a.series.Decide(q, a.inputText)
	d := answer.(*decision.VisibilityDecision)
	a.canonical.logSteps(a.request.Context(), a.p, &q.VisibilityRequest, d)
	if d == &q.answer && d.Cached {
		a.visibility = q
		a.inUse--
	}
	return d, nil
}

func (a *answerer) decideGateway(request decision.Value) (decision.Answer, *decision.InvalidRequest) {
	q := take(&a.gateway, func() *askedGateway { return new(askedGateway) })
	if err := q.Read(request); err != nil {
		return nil, decision.AsInvalidRequest(err)
	}
	d, invalid := a.series.Decide(q, a.inputText)
	if invalid == nil && d == decision.Answer(&q.answer) && q.answer.Cached {
		a.gateway = q
		a.inUse--
	}
	return d, invalid
}
