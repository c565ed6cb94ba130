package verify

import (
	"fmt"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/assertion"
)

// sentence returns what a witness shows.
func (w *Witness) sentence(a *assertion.Assertion) string {
	first := w.Requests[0]
	text := subjectOf(first.Request) + " " + mayOf(first.Outcome) + " " + actionOf(first.Request)
	if len(w.Requests) == 1 {
		return text
	}
	second := w.Requests[1]
	switch {
	case a.Form == assertion.Disjoint:
		return text + ", and " + actionOf(second.Request)
	case a.Form == assertion.Implies:
		return text + ", and " + subjectOf(second.Request) + " " + mayOf(second.Outcome)
	case a.Form == assertion.Independent:
		return text + fmt.Sprintf("; without %s: %s", a.Documents.Value, second.Outcome)
	}
	return text + fmt.Sprintf("; by %s: %s", a.Documents.Value, second.Outcome)
}

func mayOf(outcome string) string {
	switch outcome {
	case statement.OutcomeAllow:
		return "may"
	case statement.OutcomeDeny:
		return "is denied to"
	}
	return "may not"
}

func subjectOf(request map[string]any) string {
	user, _ := request["user"].(string)
	groups, _ := request["groups"].([]string)
	var parts []string
	switch account, isAccount := strings.CutPrefix(user, statement.AccountPrefix); {
	case isAccount:
		parts = append(parts, "service account "+account)
	case user != "":
		parts = append(parts, "user "+user)
	}
	for _, group := range groups {
		parts = append(parts, "group "+group)
	}
	return strings.Join(parts, " with ")
}

func actionOf(request map[string]any) string {
	text := func(key string) string {
		value, _ := request[key].(string)
		return value
	}
	out := text("verb") + " "
	if text("path") != "" {
		out += text("path")
	} else {
		out += text("resource")
		if text("apiGroup") != "" {
			out += "." + text("apiGroup")
		}
		if text("subresource") != "" {
			out += "/" + text("subresource")
		}
	}
	if text("name") != "" {
		out += " " + text("name")
	}
	if text("namespace") != "" {
		out += " in " + text("namespace")
	}
	for _, key := range []string{"cluster", "tenant", "session", "escalation"} {
		if text(key) != "" {
			out += ", " + key + " " + text(key)
		}
	}
	return out
}
