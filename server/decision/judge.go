package decision

import (
	"context"
	"fmt"

	"github.com/writ-policy/writ/translator/change"
)

// Judge returns what decides the requests of package change by p.
func Judge(p Policies) change.Judge {
	return func(ctx context.Context, point string, request []byte) (change.Verdict, error) {
		at, found := FindPoint(point)
		if !found {
			return change.Verdict{}, fmt.Errorf("unknown point %q", point)
		}
		q, err := at.Decode(request)
		if err != nil {
			return change.Verdict{}, err
		}
		answer, refused := q.Decide(ctx, p)
		switch {
		case refused != nil && refused.Code == "unknown_gateway":
			return change.Verdict{Outcome: "none", Decision: refused.Body()}, nil
		case refused != nil:
			return change.Verdict{}, refused
		}
		return change.VerdictOf(point, HasItems(q), answer.AppendJSON(nil))
	}
}
