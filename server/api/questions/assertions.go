package questions

import (
	"context"
	"net/http"

	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/decision"
)

// Proofs verify assertions about the revision that is served.
type Proofs interface {
	// Verify verifies the assertions of a body by a revision.
	Verify(ctx context.Context, p decision.Policies, body []byte) (any, *exchange.Refusal)
	// Served returns the verdicts of the assertions of the revision that is served.
	Served() any
}

// Verify verifies the assertions of a body.
func (a *API) Verify() http.HandlerFunc {
	return a.Service.Decision(exchange.Decision{
		Form: exchange.Problem, Check: exchange.CheckJSON,
		Answer: func(r *http.Request, p decision.Policies, body decision.Value, b []byte) ([]byte, *exchange.Refusal) {
			if a.Proofs == nil {
				return b, withoutStatements
			}
			var found any
			refused := a.Service.Listing(func() (refused *exchange.Refusal) {
				ctx, cancel := context.WithTimeout(r.Context(), a.Service.Budget(r))
				defer cancel()
				found, refused = a.Proofs.Verify(ctx, p, body.Bytes())
				return refused
			})
			if refused != nil {
				return b, refused
			}
			return a.encoded(b, found, generalAdvice)
		},
	})
}

// Assertions shows the verdicts of the revision that is served.
func (a *API) Assertions() http.HandlerFunc {
	return a.Service.List(exchange.List{
		Form: exchange.Problem,
		Answer: func(*http.Request, decision.Policies) ([]byte, *exchange.Refusal) {
			if a.Proofs == nil {
				return nil, withoutStatements
			}
			return a.encoded(nil, a.Proofs.Served(), generalAdvice)
		},
	})
}
