package api

import (
	"encoding/json"
	"net/http"

	"github.com/gin-gonic/gin"
)

// healthz says that the process answers.
func (s *service) healthz(c *gin.Context) { write(c, http.StatusOK, textType, []byte("ok\n")) }

// readyz says whether requests should be sent here.
func (s *service) readyz(c *gin.Context) {
	if !s.Ready() {
		write(c, http.StatusServiceUnavailable, textType, []byte("not ready\n"))
		return
	}
	write(c, http.StatusOK, textType, []byte("ok\n"))
}

func (s *service) status(c *gin.Context) {
	body, err := json.MarshalIndent(s.Status(), "", "  ")
	if err != nil {
		s.Logger.Error("the status cannot be shown", "error", err)
		s.refuse(c, &refusal{status: http.StatusInternalServerError, message: internalError})
		return
	}
	write(c, http.StatusOK, jsonType, append(body, '\n'))
}
