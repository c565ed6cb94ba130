package api

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/metrics"
)

// gatewayDecisions is the canonical door of the gateway point.
func (s *service) gatewayDecisions(c *gin.Context, value decision.Value, _ *buffer) {
	r, err := decision.GatewayFromValue(value)
	if err != nil {
		s.refuse(c, invalidBody(err))
		return
	}
	began := time.Now()
	ctx, cancel := context.WithDeadline(c.Request.Context(), began.Add(s.budget(c.Request.URL.RawQuery)))
	defer cancel()
	d, refused := s.guardRequest(ctx, r)
	s.answeredBy(c, d.Revision)
	if refused != nil {
		s.refuse(c, invalidBody(refused))
		return
	}
	s.gateway.Decided(gatewayOutcome(&d), time.Since(began))
	body, err := json.Marshal(&d)
	if err != nil {
		panic(err) // strings, numbers and what JSON was read from
	}
	write(c, http.StatusOK, jsonType, append(body, '\n'))
}

// guardRequest turns a panic of an evaluation into trouble.
func (s *service) guardRequest(ctx context.Context, r *decision.GatewayRequest) (d decision.GatewayDecision, refused *decision.InvalidRequest) {
	defer func() {
		if cause := recover(); cause != nil {
			s.Metrics.Panicked()
			s.panicked(ctx, "evaluation", cause)
			d, refused = decision.GatewayTrouble(internalError), nil
		}
	}()
	return s.Guard.Guard(ctx, r)
}

func gatewayOutcome(d *decision.GatewayDecision) metrics.Outcome {
	switch {
	case d.Trouble != "":
		return metrics.Trouble
	case d.Denied:
		return metrics.Deny
	case d.Allowed:
		return metrics.Allow
	}
	return metrics.NoOpinion
}
