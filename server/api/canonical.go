package api

import (
	"mime"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/writ-policy/writ/server/decision"
)

// checkMedia refuses what does not say that it is JSON.
func checkMedia(c *gin.Context) *refusal {
	if isJSON(c.Request.Header.Get("Content-Type")) {
		return nil
	}
	return &refusal{status: http.StatusUnsupportedMediaType, message: "the content type must be application/json"}
}

// decisions is the canonical endpoint: request and decision as they are.
func (s *service) decisions(c *gin.Context, p decision.Policies, value decision.Value, b *buffer) {
	r, err := decision.FromValue(value)
	if err != nil {
		s.refuse(c, invalidBody(err))
		return
	}
	d := s.decide(c, p, r)
	b.bytes = append(d.AppendJSON(b.bytes), '\n')
	write(c, http.StatusOK, jsonType, b.bytes)
}

// isJSON takes an absent type for JSON, as there is nothing else here.
func isJSON(contentType string) bool {
	if contentType == "" || contentType == "application/json" {
		return true
	}
	media, parameters, err := mime.ParseMediaType(contentType)
	if err != nil || media != "application/json" {
		return false
	}
	charset := parameters["charset"]
	return charset == "" || strings.EqualFold(charset, "utf-8")
}
