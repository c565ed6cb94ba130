package access

import (
	"strings"

	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/decision"
)

// AppendReceived writes a review as it was received but without its status, up to where
// the members of the new status begin.
func AppendReceived(b []byte, received decision.Value) []byte {
	b = append(b, '{')
	for key, member := range received.Members() {
		if key != "status" {
			b = append(append(jsontext.AppendString(b, key), ':'), member.String()...)
			b = append(b, ',')
		}
	}
	return append(b, `"status":{`...)
}

// EvaluationErrorText is the evaluationError of a review's status: the cause, and
// restrictions that could not be decided.
func EvaluationErrorText(cause string, warnings []string) string {
	if cause == "" && len(warnings) == 0 {
		return ""
	}
	parts := warnings
	if cause != "" {
		parts = append([]string{cause}, warnings...)
	}
	return exchange.Line(strings.Join(parts, "; "), exchange.MaxText)
}
