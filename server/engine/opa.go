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
	"github.com/writ-policy/writ/server/engine/bounds"
	"github.com/writ-policy/writ/server/engine/match"
	"github.com/writ-policy/writ/server/engine/overdue"
)

// maxDirect is the largest number of hits without restrictions that the caller's own
// goroutine evaluates: microseconds.
const maxDirect = 100

// maxAnswer bounds the bytes of an answer, because reading it is not interruptible.
const maxAnswer = 16 << 20

// evaluation is a request with its hits.
type evaluation struct {
	request *decision.Request
	hits    []match.Hit
	// sendRequest sends the request to OPA even if no hit reads it.
	sendRequest bool
	// leaveSessions leaves out the valid sessions, which then change no denial: OPA evaluates
	// the policies once more for each session.
	leaveSessions bool
	// forms are the other forms of the request.
	forms match.Forms
	// lent is what sessions give to the request.
	lent lent
}

// owner is the first extension that the hits call, empty for none.
func (v evaluation) owner() string {
	for _, h := range v.hits {
		if callsExtension(h) {
			return h.Restrictions().Extension
		}
	}
	return ""
}

func callsExtension(h match.Hit) bool {
	restrictions := h.Restrictions()
	return restrictions != nil && restrictions.Extension != ""
}

// query runs an OPA query with the input of an evaluation.
func (e *Engine) query(ctx context.Context, query *rego.PreparedEvalQuery, v evaluation, now time.Time) (ast.Value, error) {
	in, whole, err := v.input()
	if err != nil {
		return nil, err
	}
	if !whole && len(v.hits) <= maxDirect {
		// No rule reads the request, so nothing that an author wrote is evaluated.
		return e.evaluateOPA(ctx, query, in, now, topdown.NewCancel())
	}
	return e.run(ctx, v.owner(), query, in, now)
}

// run evaluates a prepared query, within the engine's timeout and the caller's deadline.
// It returns an error if the evaluation fails, is cancelled or refused, or has no result.
// owner is whose Rego may be evaluated, as in [overdue.Run].
func (e *Engine) run(ctx context.Context, owner string, query *rego.PreparedEvalQuery, in ast.Value, now time.Time) (ast.Value, error) {
	return overdue.Run(ctx, e.overdue, owner, e.timeout, func(cancel topdown.Cancel) (ast.Value, error) {
		return e.evaluateOPA(ctx, query, in, now, cancel)
	})
}

// evaluateOPA evaluates a prepared query until it is cancelled.
func (e *Engine) evaluateOPA(ctx context.Context, query *rego.PreparedEvalQuery, in ast.Value, now time.Time, cancel topdown.Cancel, more ...rego.EvalOption) (ast.Value, error) {
	if err := decision.CheckContext(ctx); err != nil {
		return nil, err
	}
	result, err := query.Eval(ctx, append(more,
		rego.EvalParsedInput(in),
		rego.EvalTime(now),
		rego.EvalMetrics(metrics.NoOp()),
		rego.EvalExternalCancel(cancel),
		rego.EvalInterQueryBuiltinValueCache(e.patterns),
	)...)
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
	if !bounds.IsWithin(value, maxAnswer) {
		return nil, overdue.ErrMemory
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
