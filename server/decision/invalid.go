package decision

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// InvalidRequest is the error for a body that is not a valid request.
type InvalidRequest struct {
	// Code is CodeInvalidRequest or, at the end of a stream, CodeEvaluationError.
	Code string
	// Message is one sentence that names the key, for people.
	Message string
	// Field is the key, empty if the body as a whole is invalid.
	Field string
}

// CodeInvalidRequest is the code of an InvalidRequest that this package returns.
const CodeInvalidRequest = "invalid_request"

// Error returns the message.
func (e *InvalidRequest) Error() string { return e.Message }

// Body returns the response body, {"error":{"code":...,"message":...}}.
func (e *InvalidRequest) Body() []byte {
	b := AppendString([]byte(`{"error":{"code":`), e.Code)
	b = AppendString(append(b, `,"message":`...), e.Message)
	return append(b, "}}"...)
}

// AsInvalidRequest returns err if it is an *InvalidRequest, and otherwise a new one
// with the text of err, so that an endpoint can answer any error of this package.
func AsInvalidRequest(err error) *InvalidRequest {
	var invalid *InvalidRequest
	if errors.As(err, &invalid) {
		return invalid
	}
	return &InvalidRequest{Code: CodeInvalidRequest, Message: err.Error()}
}

func invalid(field, format string, args ...any) *InvalidRequest {
	return &InvalidRequest{Code: CodeInvalidRequest, Field: field, Message: fmt.Sprintf(format, args...)}
}

// quoteKey quotes a key for a message and truncates a long one.
func quoteKey(key string) string {
	const limit = 80
	if len(key) > limit {
		cut := limit
		for !utf8.RuneStart(key[cut]) {
			cut--
		}
		key = key[:cut] + "..."
	}
	return fmt.Sprintf("%q", key)
}
