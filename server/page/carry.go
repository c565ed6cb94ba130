package page

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/writ-policy/writ/server/view"
)

// carry is the question for a shell and for a test. The lines hold no token. at is when the
// request is decided; empty means now.
func carry(q *question, point string, request json.RawMessage, e *view.Explanation, at string) []carried {
	curl := "curl -s " + shell(q.base+"/v1/decisions/"+point) + " -H 'Content-Type: application/json' -d " + shell(string(request))
	if q.caller.User != "" {
		curl += ` -H "Authorization: Bearer $WRIT_TOKEN"`
	}
	eval := "printf '%s\\n' " + shell(string(request)) + " | writ eval " + policiesOf(q.Status(q.caller)) + " --point " + point
	note := "asks this server"
	if at != "" {
		note = "asks this server, at the present time"
		eval += " --now " + shell(at)
	} else {
		at = q.now.UTC().Format(time.RFC3339)
	}
	return []carried{
		{"carry-curl", "curl", note, curl},
		{"carry-eval", "eval", "asks the documents", eval},
		{"carry-test", "DecisionTest", "a test beside the documents", decisionTest(point, request, e, at)},
	}
}

// policiesOf are the flags by which writ eval reads what the server serves. A caller who may
// not know where that comes from names the directory.
func policiesOf(s *view.Status) string {
	switch {
	case s.Source == "bundle":
		return "--bundle bundle.tar.gz"
	case s.Location == "" || strings.Contains(s.Location, "+"): // unknown, or a repository
		return "--policies policies"
	}
	var flags []string
	for location := range strings.SplitSeq(s.Location, ", ") {
		flags = append(flags, "--policies "+shell(location))
	}
	return strings.Join(flags, " ")
}

// shell quotes a text for a POSIX shell.
func shell(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// decisionTest is a test that expects the decision, at the time of the question: a decision
// may depend on it. JSON is YAML.
func decisionTest(point string, request json.RawMessage, e *view.Explanation, at string) string {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(e.Decision, &members); err != nil {
		return ""
	}
	expected := map[string]json.RawMessage{"allowed": members["allowed"], "denied": members["denied"]}
	if point == "visibility" {
		expected = map[string]json.RawMessage{"decision": members["decision"]}
	}
	return "apiVersion: writ.dev/v1\nkind: DecisionTest\nmetadata: {name: asked}\nspec:\n  point: " + point + "\n  now: " + string(encode(at)) +
		"\n  cases:\n    - name: " + string(encode(caseName(request))) +
		"\n      request: " + string(request) + "\n      expect: " + string(encode(expected)) + "\n"
}

// caseName says in short what a request asks for.
func caseName(request json.RawMessage) string {
	return strings.TrimSpace(who(request) + " " + what(request))
}
