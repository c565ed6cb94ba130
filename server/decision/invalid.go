package decision

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// InvalidRequest is why a body is not a valid request.
type InvalidRequest struct {
	// Code is always CodeInvalidRequest; it is written out with the message.
	Code string
	// Message is one sentence that names the key, for people.
	Message string
	// Field is the key, empty if the body as a whole is invalid.
	Field string
}

// CodeInvalidRequest is the code of every InvalidRequest.
const CodeInvalidRequest = "invalid_request"

// Error is the message.
func (e *InvalidRequest) Error() string { return e.Message }

// Body is the answer to an invalid request:
// {"error":{"code":...,"message":...}}.
func (e *InvalidRequest) Body() []byte {
	b := AppendString([]byte(`{"error":{"code":`), e.Code)
	b = AppendString(append(b, `,"message":`...), e.Message)
	return append(b, "}}"...)
}

// AsInvalidRequest is err as an *InvalidRequest, so that an endpoint can answer any
// error of this package.
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

// shown is a key as messages show it: quoted, and never longer than a line.
func shown(key string) string {
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
