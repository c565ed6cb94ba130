package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/writ-policy/writ/server/decision"
)

// Evaluate answers one request. The request must have been validated.
func (e *Engine) Evaluate(ctx context.Context, r *decision.Request) decision.Decision {
	return e.decide(ctx, question{request: r})
}

func (e *Engine) decide(ctx context.Context, q question) decision.Decision {
	d, err := e.evaluate(ctx, q)
	if err != nil {
		d = decision.Decision{
			Denied:   true,
			Reason:   "denied: trouble while evaluating: " + err.Error(),
			Warnings: []string{},
			Matched:  []decision.Matched{},
			Trouble:  err.Error(),
		}
	}
	d.Revision = e.revision
	return d
}

func (e *Engine) evaluate(ctx context.Context, q question) (decision.Decision, error) {
	return e.evaluateAt(ctx, q, e.now())
}

func (e *Engine) evaluateAt(ctx context.Context, q question, now time.Time) (decision.Decision, error) {
	q.hits, q.whole = e.tree.find(q.request), e.features.DenyPolicies
	found, err := e.ask(ctx, q, now)
	if err != nil {
		return decision.Decision{}, err
	}
	if found.stop.denied {
		return found.stop.decision(now), nil
	}
	decisive := make([]hit, len(found.hold))
	for i, position := range found.hold {
		if position < 0 || position >= len(q.hits) {
			return decision.Decision{}, errors.New("OPA's answer names a rule that was not asked about")
		}
		decisive[i] = q.hits[position]
	}
	d := compose(q.request, decisive, found.undecided)
	found.stop.accompany(&d, now)
	if e.access.ReadsClock && slices.ContainsFunc(q.hits, asksExtension) {
		// Whether the extension that was asked is the one that reads the clock, and
		// until when its answer holds, nobody knows: the decision is of now alone.
		d.Expires = now
	}
	return d, nil
}

func asksExtension(h hit) bool {
	restrictions := h.restrictions()
	return restrictions != nil && restrictions.Extension != ""
}

// findings are OPA's answer: the positions of the hits that hold, what could not
// be decided, and what deny policies say.
type findings struct {
	hold      []int
	undecided []string
	stop      stop
}

func (e *Engine) ask(ctx context.Context, q question, now time.Time) (findings, error) {
	value, err := e.query(ctx, &e.queries.findings, q, now)
	if err != nil {
		return findings{}, err
	}
	answer, ok := value.(*ast.Array)
	if !ok {
		return findings{}, errors.New("the findings are not a list")
	}
	return readFindings(answer)
}

// Wants says what the request lacks that deny policies in its scope read.
func (e *Engine) Wants(ctx context.Context, r *decision.Request) (decision.Wants, error) {
	var wants decision.Wants
	if !e.features.DenyPolicies || r.Path != "" {
		return wants, nil
	}
	wants.NamespaceLabels = e.features.NamespaceLabels && r.Namespace != "" && r.NamespaceLabels == nil
	if r.Pod != nil || r.PodError != "" || r.APIGroup != "" || r.Resource != "pods" || r.Subresource == "" {
		return wants, nil
	}
	value, err := e.query(ctx, &e.queries.wantsPod, question{request: r, whole: true}, e.now())
	if err != nil {
		return wants, err
	}
	pod, ok := value.(ast.Boolean)
	if !ok {
		return wants, errors.New("whether a pod is wanted is no truth value")
	}
	wants.Pod = bool(pod)
	return wants, nil
}

func (e *Engine) query(ctx context.Context, query *rego.PreparedEvalQuery, q question, now time.Time) (ast.Value, error) {
	in, err := q.input()
	if err != nil {
		return nil, err
	}
	return e.run(ctx, query, in, now)
}

// run asks OPA within the engine's bound and the caller's.
func (e *Engine) run(ctx context.Context, query *rego.PreparedEvalQuery, in ast.Value, now time.Time) (ast.Value, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// One cancel serves both the caller and the bound, without a goroutine a
	// request.
	cancel := topdown.NewCancel()
	timer := time.AfterFunc(e.timeout, cancel.Cancel)
	defer timer.Stop()
	if ctx.Done() != nil {
		defer context.AfterFunc(ctx, cancel.Cancel)()
	}
	result, err := query.Eval(ctx,
		rego.EvalParsedInput(in),
		rego.EvalTime(now),
		rego.EvalMetrics(metrics.NoOp()),
		rego.EvalExternalCancel(cancel),
		rego.EvalInterQueryBuiltinValueCache(e.patterns),
	)
	if err != nil {
		return nil, cause(ctx, err)
	}
	if len(result) != 1 || len(result[0].Expressions) != 1 {
		return nil, errors.New("the decision is undefined")
	}
	value, ok := result[0].Expressions[0].Value.(ast.Value)
	if !ok {
		return nil, errors.New("the decision is no value")
	}
	return value, nil
}

// cause names the end of an evaluation that was cancelled by why it was, and an
// evaluation error by its place and what OPA says up to the first colon: what
// follows are values of the request, and reasons are shown to people.
func cause(ctx context.Context, err error) error {
	var failed *topdown.Error
	switch {
	case topdown.IsCancel(err) && ctx.Err() != nil:
		return context.Cause(ctx)
	case topdown.IsCancel(err):
		return errors.New("the evaluation took too long")
	case !errors.As(err, &failed):
		return err
	}
	message, _, _ := strings.Cut(failed.Message, ":")
	if failed.Location == nil {
		return fmt.Errorf("%s: %s", failed.Code, message)
	}
	return fmt.Errorf("%s:%d: %s: %s", failed.Location.File, failed.Location.Row, failed.Code, message)
}

// readFindings takes the answer apart. An answer of another shape is trouble:
// half an answer must not pass for a "no".
func readFindings(answer *ast.Array) (findings, error) {
	var f findings
	if answer.Len() != 3 {
		return f, fmt.Errorf("the findings have %d parts, not 3", answer.Len())
	}
	hold, ok1 := answer.Elem(0).Value.(*ast.Array)
	undecided, ok2 := answer.Elem(1).Value.(*ast.Array)
	if !ok1 || !ok2 {
		return f, errors.New("the findings have parts that are not lists")
	}
	for i := range hold.Len() {
		number, ok := hold.Elem(i).Value.(ast.Number)
		position, whole := number.Int()
		if !ok || !whole {
			return f, errors.New("the findings have a position that is no number")
		}
		f.hold = append(f.hold, position)
	}
	var err error
	if f.undecided, err = texts(undecided); err != nil {
		return f, err
	}
	f.stop, err = readStop(answer.Elem(2).Value)
	return f, err
}

func texts(list *ast.Array) ([]string, error) {
	var texts []string
	for i := range list.Len() {
		text, ok := list.Elem(i).Value.(ast.String)
		if !ok {
			return nil, errors.New("the findings have a text that is none")
		}
		texts = append(texts, string(text))
	}
	return texts, nil
}
