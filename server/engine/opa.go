package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/writ-policy/writ/server/decision"
)

// query asks OPA with the input of an evaluation.
func (e *Engine) query(ctx context.Context, query *rego.PreparedEvalQuery, v evaluation, now time.Time) (ast.Value, error) {
	in, err := v.input()
	if err != nil {
		return nil, err
	}
	return e.run(ctx, query, in, now)
}

// run evaluates a prepared query, within the engine's timeout and the caller's deadline.
// It returns an error if the evaluation fails or is cancelled, or has no result.
func (e *Engine) run(ctx context.Context, query *rego.PreparedEvalQuery, in ast.Value, now time.Time) (ast.Value, error) {
	if err := decision.CheckContext(ctx); err != nil {
		return nil, err
	}
	// One Cancel serves the caller's context and the timeout, without a goroutine per
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
		return nil, fmt.Errorf("OPA returned an unexpected result type %T", result[0].Expressions[0].Value)
	}
	return value, nil
}

// cause returns the reason for which an evaluation was cancelled. An error within it
// is named by its position and OPA's message up to the first colon: what follows are
// values of the request, and reasons are shown to people.
func cause(ctx context.Context, err error) error {
	var failed *topdown.Error
	switch {
	case topdown.IsCancel(err):
		return cmp.Or(decision.CheckContext(ctx), decision.ErrDeadline)
	case !errors.As(err, &failed):
		return err
	}
	message, _, _ := strings.Cut(failed.Message, ":")
	if failed.Location == nil {
		return fmt.Errorf("%s: %s", failed.Code, message)
	}
	return fmt.Errorf("%s:%d: %s: %s", failed.Location.File, failed.Location.Row, failed.Code, message)
}
