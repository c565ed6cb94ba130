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
			var s point.Series
			s.Begin(t.Context(), g, m.Point("access"), time.Millisecond)
			d, _, invalid := point.Decide(&s, point.Failed[decision.Decision], func(ctx context.Context) (*decision.Decision, *decision.InvalidRequest) {
				d, invalid := row.evaluate(ctx)
				return &d, invalid
			})
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
