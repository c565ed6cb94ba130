package decision

import (
	"context"
	"fmt"

	"github.com/writ-policy/writ/translator/change/statement"
)

// Judge returns what decides the requests of package change by p.
func Judge(p Policies) statement.Judge {
	return func(ctx context.Context, point string, request []byte) (statement.Verdict, error) {
		at, found := FindPoint(point)
		if !found {
			return statement.Verdict{}, fmt.Errorf("unknown point %q", point)
		}
		q, err := at.Decode(request)
		if err != nil {
			return statement.Verdict{}, err
		}
		return VerdictOf(ctx, p, point, q)
	}
}

// VerdictOf returns what p decides for a question at a point. An unknown gateway is decided
// as a path without policies.
func VerdictOf(ctx context.Context, p Policies, point string, q Question) (statement.Verdict, error) {
	answer, refused := q.Decide(ctx, p)
	switch {
	case refused != nil && refused.Code == "unknown_gateway":
		return statement.Verdict{Outcome: "none", Decision: refused.Body()}, nil
	case refused != nil:
		return statement.Verdict{}, refused
	}
	return statement.VerdictOf(point, HasItems(q), answer.AppendJSON(nil))
}
