package point_test

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/server/point"
)

// question is a request whose decision is that of evaluate.
type question struct {
	decision.Request
	evaluate func(context.Context) (decision.Decision, *decision.InvalidRequest)
}

func (q question) Decide(ctx context.Context, _ decision.Policies) (decision.Answer, *decision.InvalidRequest) {
	d, invalid := q.evaluate(ctx)
	return &d, invalid
}

func (question) Failed(cause string) decision.Answer { return new(decision.Request).Failed(cause) }
func (question) Principal() string                   { return "" }

func TestDecide(t *testing.T) {
	refused := &decision.InvalidRequest{Code: decision.CodeInvalidRequest, Message: "no"}
	for _, row := range []struct {
		name     string
		evaluate func(context.Context) (decision.Decision, *decision.InvalidRequest)
		want     decision.Decision
		invalid  *decision.InvalidRequest
		counted  string // outcome; empty for none
	}{
		{"allow", func(context.Context) (decision.Decision, *decision.InvalidRequest) {
			return decision.Decision{Allowed: true}, nil
		}, decision.Decision{Allowed: true}, nil, "allow"},
		{"a contradiction denies", func(context.Context) (decision.Decision, *decision.InvalidRequest) {
			return decision.Decision{Allowed: true, Denied: true}, nil
		}, decision.Decision{Denied: true}, nil, "deny"},
		{"a panic is an evaluation error", func(context.Context) (decision.Decision, *decision.InvalidRequest) {
			panic("a secret")
		}, decision.Decision{Denied: true, EvaluationError: "internal error"}, nil, "error"},
		{"time runs out", func(ctx context.Context) (decision.Decision, *decision.InvalidRequest) {
			<-ctx.Done()
			return decision.Decision{}.Failed(decision.CheckContext(ctx).Error()), nil
		}, decision.Decision{Denied: true, EvaluationError: "the evaluation took too long"}, nil, "error"},
		{"an invalid request", func(context.Context) (decision.Decision, *decision.InvalidRequest) {
			return decision.Decision{}, refused
		}, decision.Decision{}, refused, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			m := metrics.New()
			g := &point.Guard{Metrics: m, Logger: slog.New(slog.DiscardHandler)}
			s := g.Begin(t.Context(), point.Asked{Policies: decision.Unavailable(""), Counter: m.Point("access"), Within: time.Millisecond})
			defer s.End()
			answer, invalid := s.Decide(question{evaluate: row.evaluate}, nil)
			d := answer.(*decision.Decision)
			if invalid != row.invalid || d.Allowed != row.want.Allowed || d.Denied != row.want.Denied || d.EvaluationError != row.want.EvaluationError {
				t.Errorf("got %+v, %v", d, invalid)
			}
			w := httptest.NewRecorder()
			m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
			for _, outcome := range []string{"allow", "deny", "no_opinion", "error"} {
				want := `writ_decisions_total{outcome="` + outcome + `",point="access"} 0`
				if outcome == row.counted {
					want = strings.TrimSuffix(want, "0") + "1"
				}
				if !strings.Contains(w.Body.String(), want+"\n") {
					t.Errorf("got no line %q", want)
				}
			}
		})
	}
}
