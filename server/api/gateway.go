package api

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/writ-policy/writ/server/decision"
)

// gatewayDecisions is the canonical endpoint of the gateway point.
func (s *service) gatewayDecisions(c *gin.Context, p decision.Policies, value decision.Value, _ *buffer) {
	r, err := decision.GatewayFromValue(value)
	if err != nil {
		s.refuse(c, invalidBody(err))
		return
	}
	d, invalid := answerPoint(s, c, s.gateway, func(ctx context.Context) (decision.GatewayDecision, *decision.InvalidRequest) {
		return p.Gateway(ctx, r)
	})
	if invalid != nil {
		s.refuse(c, invalidBody(invalid))
		return
	}
	body, err := json.Marshal(&d)
	if err != nil {
		panic(err) // strings, numbers and what JSON was read from
	}
	write(c, http.StatusOK, jsonType, append(body, '\n'))
}
