package questions

import (
	"context"
	"errors"
	"net/http"

	"github.com/writ-policy/writ/analysis/filter"
	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/filters"
)

// Filter states under which condition rows are visible or allowed, at a point of
// filters.Points. Every caller who is authenticated may ask about anybody, as enforcement
// points ask for decisions.
func (a *API) Filter(point string) http.HandlerFunc {
	return a.Service.Decision(exchange.Decision{
		Form: exchange.Problem, Check: exchange.CheckJSON,
		Answer: func(r *http.Request, p decision.Policies, body decision.Value, b []byte) ([]byte, *exchange.Refusal) {
			q, err := filters.Parse(point, body, "", a.Labels)
			if err != nil {
				return b, exchange.InvalidBody(err)
			}
			ctx, cancel := context.WithTimeout(r.Context(), a.Service.Budget(r))
			defer cancel()
			answer, err := q.Answer(ctx, p)
			if err != nil {
				return b, FilterRefusal(err)
			}
			text := answer.JSON()
			if a.MaxAnswer > 0 && len(text) > a.MaxAnswer {
				return b, TooLarge(len(text), a.MaxAnswer)
			}
			a.record(r, p, q, answer, body)
			return append(b, text...), nil
		},
	})
}

// record records a filter with the question that it answers.
func (a *API) record(r *http.Request, p decision.Policies, q *filters.Question, answer *filters.Answer, body decision.Value) {
	if !a.Service.IsRecorded() {
		return
	}
	f := q.Record(answer)
	f.Result = jsontext.Line(map[string]any{"kind": answer.Kind, "exact": answer.Exact, "until": answer.Until, "matched": answer.Matched, "hash": f.Hash})
	f.Path, f.Input = "writ/filters/"+f.Point, q.Body(body)
	a.Service.Filtered(r, p, f)
}

// FilterRefusal converts an error of a filter.
func FilterRefusal(err error) *exchange.Refusal {
	var untranslatable *filter.UntranslatableError
	var failed filters.EvaluationError
	switch {
	case errors.As(err, &untranslatable):
		list := jsontext.Marshal(untranslatable.Constructs)
		return &exchange.Refusal{
			Status: http.StatusUnprocessableEntity, Message: untranslatable.Error(), Invalid: true,
			Code: filters.CodeUntranslatable, Untranslatable: list,
		}
	case errors.Is(err, filters.ErrIncomplete):
		return withoutStatements
	case errors.As(err, &failed):
		return &exchange.Refusal{Status: http.StatusServiceUnavailable, Message: failed.Error()}
	}
	return refusalOf(err)
}
