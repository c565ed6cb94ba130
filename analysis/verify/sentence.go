package verify

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/assertion"
	"github.com/writ-policy/writ/translator/tables"
)

// sentence returns what a witness shows.
func (w *Witness) sentence(a *assertion.Assertion) string {
	if a.Word == assertion.Limited {
		return "no limit without a condition is in force on " + w.Path
	}
	first := w.Requests[0]
	if a.Point == assertion.Gateway {
		return w.crossingSentence(a)
	}
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

// crossingSentence returns what a witness at the point gateway shows.
func (w *Witness) crossingSentence(a *assertion.Assertion) string {
	request, _ := w.Requests[0].Request["request"].(map[string]any)
	text := fmt.Sprintf("%s %s%s", request["method"], request["host"], request["path"])
	if auth, _ := w.Requests[0].Request["auth"].(map[string]any); auth["identity"] == nil {
		text += " without an identity"
	}
	text += ": " + w.Requests[0].Outcome
	if w.crossing != nil && w.crossing.targets[0] != "" {
		text += ", by " + w.crossing.targets[0]
	}
	switch {
	case len(w.Requests) == 1:
	case a.Form == assertion.Independent:
		text += fmt.Sprintf("; without %s: %s", a.Documents.Value, w.Requests[1].Outcome)
	default:
		text += fmt.Sprintf("; by %s: %s", a.Documents.Value, w.Requests[1].Outcome)
	}
	return text
}

func mayOf(outcome string) string {
	switch outcome {
	case statement.OutcomeAllow:
		return "may"
	case statement.OutcomePartial:
		return "may in part"
	case statement.OutcomeShown:
		return "is shown"
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
	if action := text("action"); action != "" {
		return viewOf(action, request)
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
	for _, key := range tables.ScopeKeys() {
		if text(key) != "" {
			out += ", " + key + " " + text(key)
		}
	}
	return out
}

// viewOf returns the action of a request at the point visibility.
func viewOf(action string, request map[string]any) string {
	out := "view "
	if action == viewMetrics {
		out += "metrics of "
	}
	if typ, _ := request["type"].(string); typ != "" {
		out += typ + " of "
	}
	if cluster, _ := request["cluster"].(map[string]any); cluster != nil {
		out += fmt.Sprintf("cluster %v", cluster["name"])
		if labels, _ := cluster["labels"].(map[string]string); len(labels) > 0 {
			pairs := elements.Map(slices.Sorted(maps.Keys(labels)), func(key string) string { return key + "=" + labels[key] })
			out += " (" + strings.Join(pairs, ", ") + ")"
		}
	}
	if items, _ := request["items"].([]any); len(items) == 1 {
		out += ", item " + statement.JSONText(items[0])
	}
	return out
}
