package client

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/writ-policy/writ/server/decision"
)

// InvalidRequest is the error of a request that the server rejects as malformed. Its Field
// names the key.
type InvalidRequest = decision.InvalidRequest

// Error is an answer that refuses a request. errors.As finds the *InvalidRequest in it if
// the request is malformed.
type Error struct {
	// Status is that of HTTP: 401 without valid credentials, 403 without the role of the
	// endpoint, 503 if the server has no time or memory left after all attempts.
	Status int
	// Message is one sentence of the server, for people.
	Message string
	// Invalid is why the request is malformed; nil if it is not.
	Invalid *InvalidRequest
	// Diagnostics are the mistakes in documents of the request.
	Diagnostics []Diagnostic
}

// Diagnostic is a mistake in a document.
type Diagnostic struct {
	File     string `json:"file"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Severity string `json:"severity"`
	Code     string `json:"code"`
	Message  string `json:"message"`
	Hint     string `json:"hint"`
}

// Error returns the status and the message.
func (e *Error) Error() string {
	return fmt.Sprintf("the server refuses the request: %d %s", e.Status, cmp.Or(e.Message, http.StatusText(e.Status)))
}

// Unwrap returns Invalid.
func (e *Error) Unwrap() error {
	if e.Invalid == nil {
		return nil
	}
	return e.Invalid
}

// maxMessage bounds the text of an answer that is not a problem.
const maxMessage = 300

// errorOf returns the error of an answer with a status that is not 200.
func errorOf(response *http.Response, body []byte) error {
	var problem struct {
		Detail, Message, Field string // a problem has a detail, a Status of Kubernetes a message
		Error                  *struct{ Code, Message string }
		Diagnostics            []Diagnostic
	}
	e := &Error{Status: response.StatusCode}
	if json.Unmarshal(body, &problem) == nil {
		e.Message, e.Diagnostics = cmp.Or(problem.Detail, problem.Message), problem.Diagnostics
	} else {
		e.Message = string(body[:min(len(body), maxMessage)])
	}
	if problem.Error != nil {
		e.Invalid = &InvalidRequest{Code: problem.Error.Code, Message: problem.Error.Message, Field: problem.Field}
	}
	switch e.Status {
	case http.StatusAccepted:
		e.Message = "the answer is not there yet"
		return e
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return e
	}
	return &finalError{e}
}
