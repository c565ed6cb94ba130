// Package judge decides the requests of an analysis, as JSON texts, by the policies of a
// revision: what the analysis reports is what a server decides. It must not know any question.
package judge

import (
	"context"
	"fmt"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/server/decision"
)

// Of returns what decides requests by p. Of clusters they know the labels that they state.
func Of(p decision.Policies) statement.Judge {
	return func(ctx context.Context, point string, request []byte) (statement.Verdict, error) {
		at, found := decision.FindPoint(point)
		if !found {
			return statement.Verdict{}, fmt.Errorf("unknown point %q", point)
		}
		q, err := at.Decode(request, nil)
		if err != nil {
			return statement.Verdict{}, err
		}
		return VerdictOf(ctx, p, point, q)
	}
}

// VerdictOf returns what p decides for a question at a point. An unknown gateway is decided
// as a path without policies.
func VerdictOf(ctx context.Context, p decision.Policies, point string, q decision.Question) (statement.Verdict, error) {
	answer, refused := q.Decide(ctx, p)
	switch {
	case refused != nil && refused.Code == "unknown_gateway":
		return statement.Verdict{Outcome: "none", Decision: refused.Body()}, nil
	case refused != nil:
		return statement.Verdict{}, refused
	}
	return statement.VerdictOf(point, decision.HasItems(q), answer.AppendJSON(nil))
}
