package engine

import (
	"errors"
	"fmt"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/effective"
	"github.com/writ-policy/writ/translator/lower"
)

var _ decision.Effectiver = (*Engine)(nil)

// Effective answers from the tables of the bundle.
func (e *Engine) Effective(q decision.EffectiveQuestion) (any, string, error) {
	answer, err := askEffective(e.gateways, q)
	switch {
	case errors.Is(err, effective.ErrUnknownTarget):
		err = fmt.Errorf("%w: %w", decision.ErrUnknownTarget, err)
	case err != nil:
		err = fmt.Errorf("%w: %w", decision.ErrMalformed, err)
	}
	return answer, e.revision, err
}

func askEffective(g *lower.Gateway, q decision.EffectiveQuestion) (any, error) {
	if g == nil {
		g = &lower.Gateway{} // no document of that family is there
	}
	switch {
	case q.Reach != "":
		return effective.Reach(g, q.Kind, q.Reach)
	case q.Replaced:
		return effective.Replaced(g, q.Kind, q.Policy)
	}
	target, err := effective.ParseTarget(q.Target)
	if err != nil {
		return nil, err
	}
	var via effective.Target
	if q.Via != "" {
		if via, err = effective.ParseTarget(q.Via); err != nil {
			return nil, err
		}
	}
	return effective.Of(g, q.Kind, target, via)
}
