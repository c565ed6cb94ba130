package decision

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/writ-policy/writ/internal/jsontext"
)

// InvalidRequest is the error for a body that is not a valid request.
type InvalidRequest struct {
	// Code is CodeInvalidRequest or, at the end of a stream, CodeEvaluationError.
	Code string
	// Message is one sentence that names the key, for people. A stock OPA returns the
	// same one.
	Message string
	// Field is the key, empty if the body as a whole is invalid.
	Field string
	// Line is the line of an unknown key, from 1, if the body has several lines.
	Line int
	// Near is the known key that an unknown one resembles, empty if it resembles none.
	Near string
}

// CodeInvalidRequest is the code of an InvalidRequest that this package returns.
const CodeInvalidRequest = "invalid_request"

// Error returns the message with the line and the near key.
func (e *InvalidRequest) Error() string {
	text := e.Message
	if e.Line > 0 {
		text = fmt.Sprintf("line %d: %s", e.Line, text)
	}
	if e.Near != "" {
		text += fmt.Sprintf(", did you mean %q?", e.Near)
	}
	return text
}

// Body returns the response body, {"error":{"code":...,"message":...}}.
func (e *InvalidRequest) Body() []byte {
	b := jsontext.AppendString([]byte(`{"error":{"code":`), e.Code)
	b = jsontext.AppendString(append(b, `,"message":`...), e.Error())
	return append(b, "}}"...)
}

// AsInvalidRequest returns err if it is an *InvalidRequest, and otherwise a new one
// with the text of err, so that an endpoint can answer any error of this package.
func AsInvalidRequest(err error) *InvalidRequest {
	if invalid, ok := errors.AsType[*InvalidRequest](err); ok {
		return invalid
	}
	return &InvalidRequest{Code: CodeInvalidRequest, Message: err.Error()}
}

func invalid(field, format string, args ...any) *InvalidRequest {
	return &InvalidRequest{Code: CodeInvalidRequest, Field: field, Message: fmt.Sprintf(format, args...)}
}

// quoteKey quotes a key for a message and truncates a long one, as writ.shape does.
func quoteKey(key string) string {
	const limit = 80
	if utf8.RuneCountInString(key) > limit {
		key = string([]rune(key)[:limit]) + "..."
	}
	return fmt.Sprintf("%q", key)
}

// firstProblem returns the problem of an object that read rejects a member of: its first
// unknown key, else the first message, in the order of their bytes. The order of members
// has no meaning, and a stock OPA does not know it.
func firstProblem(request Value, known []string, read func(key string, member Value) error) error {
	var unknown names
	var problem error
	for key, member := range request.Members() {
		if err := read(key, member); !errors.Is(err, errUnknownKey) {
			problem = least(problem, err)
		} else {
			unknown.add(key)
		}
	}
	if unknown.any {
		return unknownKey(request, unknown.first, known)
	}
	return problem
}

// least returns the error whose message is first, nil if both are nil.
func least(a, b error) error {
	if a == nil || b != nil && b.Error() < a.Error() {
		return b
	}
	return a
}
