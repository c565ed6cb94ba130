package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine/gateway"
)

const askGateway = "data.writ.gateway.judgement"

// maxReviews bounds how often OPA evaluates one request: once for each priority whose
// rules make access requests.
const maxReviews = 64

var keyAnswers = ast.StringTerm("answers")

// Gateway decides a request at the gateway point. The engine decides access requests
// that authorization rules make as it does at the access point.
func (e *Engine) Gateway(ctx context.Context, r *decision.GatewayRequest) (decision.GatewayDecision, *decision.InvalidRequest) {
	r.Load()
	d, targets, err := e.gateway(ctx, r)
	var refused *decision.InvalidRequest
	switch {
	case errors.As(err, &refused):
		return decision.GatewayDecision{Revision: e.loaded.Revision}, refused
	case err != nil:
		d = d.Failed(err.Error())
	case e.requireRoute && !r.NamesRoute():
		d, targets = decision.RouteRequired(), nil
	}
	d.Revision, d.IsOwn, d.Paths = e.loaded.Revision, e.isOwn(targets), targets
	d.Withheld = e.withheld(&d, targets)
	return d.Sendable(), nil
}

// gateway returns the decision and the targets of the paths that it depends on.
func (e *Engine) gateway(ctx context.Context, r *decision.GatewayRequest) (decision.GatewayDecision, []decision.GatewayTarget, error) {
	now := e.now()
	if e.byOPA.at(decision.Gateway) != nil {
		return e.gatewayByOPA(ctx, r, now)
	}
	if routed, ok := e.routes.Route(r); ok {
		if err := decision.CheckContext(ctx); err != nil {
			return decision.GatewayDecision{}, nil, err
		}
		d, err := routed.Decide(timeOf(now), &gatewayRego{e, ctx, now, r.Text("request", "host")})
		if !errors.Is(err, gateway.ErrUncertain) {
			return d, routed.Targets, err
		}
	}
	return e.gatewayByRego(ctx, r, now)
}

// gatewayByRego is gateway for requests that the tables do not decide.
func (e *Engine) gatewayByRego(ctx context.Context, r *decision.GatewayRequest, now time.Time) (d decision.GatewayDecision, targets []decision.GatewayTarget, err error) {
	attributes, err := ast.InterfaceToValue(r.Attributes)
	if err != nil {
		return d, nil, fmt.Errorf("read the request: %w", err)
	}
	request, ok := attributes.(ast.Object)
	if !ok {
		return d, nil, errors.New("the request must be an object")
	}
	query, err := e.queries.judgement.wait(ctx)
	if err != nil {
		return d, nil, err
	}
	answers := ast.NewObject()
	for range maxReviews {
		request.Insert(keyEngine, ast.ObjectTerm([2]*ast.Term{keyAnswers, ast.NewTerm(answers)}))
		value, err := e.run(ctx, r.Text("request", "host"), query, request, now)
		if err != nil {
			return d, nil, err
		}
		j, err := readJudgement(value)
		if err != nil {
			return d, nil, err
		}
		if j.unanswered.Len() == 0 {
			d, err := readGateway(j.decision)
			return d, j.targets, err
		}
		if err := e.answer(ctx, answers, j.unanswered, now); err != nil {
			return d, nil, err
		}
	}
	return d, nil, fmt.Errorf("the rules make access requests in more than %d rounds", maxReviews)
}

// allows reports whether the access point allows a request, in JSON. An invalid request is
// not allowed.
func (e *Engine) allows(ctx context.Context, review []byte, now time.Time) (bool, error) {
	r, err := decision.Decode[decision.Request](review)
	if err != nil {
		return false, nil //nolint:nilerr // an author's mistake, and not an evaluation error
	}
	d, err := e.decideAt(ctx, evaluation{request: r}, now)
	return d.Allowed, err
}

// answer decides access requests and adds their decisions to answers.
func (e *Engine) answer(ctx context.Context, answers ast.Object, unanswered ast.Set, now time.Time) error {
	for _, pair := range unanswered.Slice() {
		asked, ok := pair.Value.(*ast.Array)
		if !ok || asked.Len() != 2 {
			return errors.New("an authorization rule produced a malformed access request")
		}
		text, err := ast.JSON(asked.Elem(0).Value)
		if err != nil {
			return err
		}
		allowed, err := e.allows(ctx, []byte(text.(string)), now)
		if err != nil {
			return err
		}
		answers.Insert(asked.Elem(0), ast.InternedTerm(allowed))
	}
	return nil
}

// judgement is the result of askGateway.
type judgement struct {
	decision   ast.Object
	unanswered ast.Set                  // access requests
	targets    []decision.GatewayTarget // of the paths that decide
}

func readJudgement(value ast.Value) (judgement, error) {
	parts, ok := value.(*ast.Array)
	if !ok || parts.Len() != 3 {
		return judgement{}, errors.New("the judgement must have three elements")
	}
	answer, ok1 := parts.Elem(0).Value.(ast.Object)
	unanswered, ok2 := parts.Elem(1).Value.(ast.Set)
	if !ok1 || !ok2 {
		return judgement{}, errors.New("the judgement has elements of other types")
	}
	j := judgement{decision: answer, unanswered: unanswered}
	if err := readTerm(parts.Elem(2).Value, &j.targets); err != nil {
		return judgement{}, fmt.Errorf("read the targets: %w", err)
	}
	return j, nil
}

// readTerm decodes a value of OPA into a Go value. ast.As is not used: it goes through the
// text of the value, in which characters that do not print have escapes that JSON has not.
func readTerm(value ast.Value, to any) error {
	plain, err := ast.JSON(value)
	if err != nil {
		return err
	}
	text, err := json.Marshal(plain)
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // metadata may have integers that a float64 cannot represent
	return decoder.Decode(to)
}

// readGateway reads the decision. It returns an *InvalidRequest if the decision has the
// key error.
func readGateway(answer ast.Object) (decision.GatewayDecision, error) {
	var read struct {
		Error *struct{ Code, Message string }
		decision.GatewayDecision
	}
	if err := readTerm(answer, &read); err != nil {
		return read.GatewayDecision, fmt.Errorf("read the decision: %w", err)
	}
	if read.Error != nil {
		return read.GatewayDecision, &decision.InvalidRequest{Code: read.Error.Code, Message: read.Error.Message}
	}
	if read.Deciding == nil { // the Rego of an older bundle does not name lines
		read.Deciding = []decision.MatchedRule{}
	}
	return read.GatewayDecision, nil
}
