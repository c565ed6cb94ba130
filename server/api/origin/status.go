package origin

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/server/api/access"
	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/tables"
)

// appendStatus ends an answer with the status of a SubjectAccessReview.
// Both sides are reported: what would allow is named even when it is denied.
func appendStatus(b []byte, d *decision.Decision) []byte {
	b = strconv.AppendBool(append(b, `"allowed":`...), d.Allowed)
	if reason := allowReason(d); reason != "" {
		b = jsontext.AppendString(append(b, `,"allowReason":`...), exchange.Line(reason, exchange.MaxReason))
	}
	if !d.Allowed {
		reason := cmp.Or(d.Reason, "not allowed")
		b = jsontext.AppendString(append(b, `,"denyReason":`...), exchange.Line(reason, exchange.MaxReason))
	}
	if text := access.EvaluationErrorText(d.EvaluationError, d.Warnings); text != "" {
		b = jsontext.AppendString(append(b, `,"evaluationError":`...), text)
	}
	return append(b, "}}\n"...)
}

func allowReason(d *decision.Decision) string {
	if d.Allowed && d.Reason != "" {
		return d.Reason
	}
	for i := range d.Matched {
		if m := &d.Matched[i]; m.Effect == "allow" {
			return "allowed by " + describe(m)
		}
	}
	if d.Allowed {
		return "allowed"
	}
	return ""
}

// describe names a rule as reasons do, and when it ends.
func describe(m *decision.Matched) string {
	text := tables.Title(m.Kind, m.Namespace, m.Name) + " ("
	if m.Role != nil {
		text += tables.Title(m.Role.Kind, m.Role.Namespace, m.Role.Name) + ", "
	}
	text += "rule " + strconv.Itoa(m.Rule) + ")"
	if m.Until != "" {
		text += " until " + m.Until
	}
	return text
}

// appendWhoCan ends an answer with the status of a ResourceAccessReview. Service
// accounts are users. The form has no room for exceptions but its error.
func appendWhoCan(b []byte, w *access.WhoCan) []byte {
	users := slices.Concat(w.Users, w.ServiceAccounts)
	slices.Sort(users)
	b = decision.AppendStrings(append(b, `"userNames":`...), slices.Compact(users))
	b = decision.AppendStrings(append(b, `,"groupNames":`...), w.Groups)
	warnings := slices.Clone(w.Warnings)
	if w.EvaluationError == "" && w.Reason != "" {
		warnings = append(warnings, w.Reason)
	}
	if len(w.Except) > 0 && len(w.Groups) > 0 {
		names := elements.Map(w.Except, func(e access.Exception) string { return e.Kind + " " + e.Name })
		warnings = append(warnings, "may not hold for: "+strings.Join(names, ", "))
	}
	if text := access.EvaluationErrorText(w.EvaluationError, warnings); text != "" {
		b = jsontext.AppendString(append(b, `,"evaluationError":`...), text)
	}
	return append(b, "}}\n"...)
}
