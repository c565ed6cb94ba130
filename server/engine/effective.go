package engine

import (
	"errors"
	"fmt"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/gateway/effective"
	"github.com/writ-policy/writ/translator/tables"
)

// EffectivePolicies answers from the tables of the bundle. The error wraps
// decision.ErrUnknownTarget or decision.ErrMalformed.
func (e *Engine) EffectivePolicies(q decision.EffectiveQuestion) (any, error) {
	answer, err := answerEffective(e.gateways, q)
	var wrong *effective.Error
	switch {
	case errors.As(err, &wrong) && wrong.Unknown:
		err = fmt.Errorf("%w: %w", decision.ErrUnknownTarget, err)
	case err != nil:
		err = fmt.Errorf("%w: %w", decision.ErrMalformed, err)
	}
	return answer, err
}

func answerEffective(g *tables.Gateway, q decision.EffectiveQuestion) (any, error) {
	if g == nil {
		g = &tables.Gateway{} // the bundle has no documents of that family
	}
	switch {
	case q.Policies:
		return effective.FindPolicies(g, q.Kind)
	case q.Reach != "":
		return effective.FindReach(g, q.Kind, q.Reach)
	case q.Replaced:
		return effective.FindReplaced(g, q.Kind, q.Policy)
	}
	return effective.Find(g, effective.Query{Kind: q.Kind, Target: q.Target, Via: q.Via})
}
