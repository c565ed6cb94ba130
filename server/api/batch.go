package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/decision"
)

// pendingLines is how many bytes of decisions are held while further requests are there
// to be read.
const pendingLines = 32 << 10

// batch answers several requests at a point, from one revision: a body with a list of
// requests, or a stream with a request a line.
func (s *canonical) batch(e exchange.Decision, begin func(*http.Request, decision.Policies) exchange.Answerer) http.HandlerFunc {
	e.Check = checkMedia
	lines := func(w http.ResponseWriter, r *http.Request) { s.batchLines(w, r, begin) }
	return orLines(lines, s.service.Batch(e, begin))
}

// batchLines writes a decision a line, in the order of the requests. A line that is not a
// request is answered with a line with the error.
func (s *canonical) batchLines(w http.ResponseWriter, r *http.Request, begin func(*http.Request, decision.Policies) exchange.Answerer) {
	s.lines(w, r, func(ctx context.Context, a *streamed, in *decision.Lines) *exchange.Refusal {
		policies, refused := s.service.Policies(w, r)
		if refused != nil {
			return refused
		}
		one := begin(r.WithContext(ctx), policies)
		defer one.End()
		w.Header()["Content-Type"] = linesType
		for request, err := range in.All() {
			var invalid *decision.InvalidRequest
			switch {
			case err == nil:
				one.Restart() // the line may have been waited for
				a.pending = exchange.AppendAnswer(one, request, a.pending)
			case errors.As(err, &invalid):
				a.pending = append(a.pending, invalid.Body()...)
			default:
				a.pending = append(a.pending, decision.AsInvalidRequest(s.streamError(err)).Body()...)
			}
			a.pending = append(a.pending, '\n')
			if len(a.pending) >= pendingLines && a.writePending() != nil {
				return nil // the caller has left
			}
		}
		_ = a.writePending() // the caller may have left
		return nil
	})
}
