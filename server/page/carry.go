package page

import (
	"encoding/json"
	"net/url"
	"strings"

	"github.com/writ-policy/writ/server/view"
)

func queryEscape(text string) string { return url.QueryEscape(text) }

// carry is the question for a shell and for a test. The lines hold no token.
func carry(base, point string, request json.RawMessage, e *view.Explanation) []carried {
	curl := "curl -s " + shell(base+"/v1/decisions/"+point) + " -H 'Content-Type: application/json' -d " + shell(string(request))
	if strings.HasPrefix(base, "https:") {
		curl += ` -H "Authorization: Bearer $WRIT_TOKEN"`
	}
	eval := "echo " + shell(string(request)) + " | writ eval --policies policies"
	if point != "access" {
		eval += " --point " + point
	}
	return []carried{
		{"carry-curl", "curl", "asks this server", curl},
		{"carry-eval", "eval", "asks the documents", eval},
		{"carry-test", "DecisionTest", "a test beside the documents", decisionTest(point, request, e)},
	}
}

// shell quotes a text for a POSIX shell.
func shell(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// decisionTest is a test that expects the decision. JSON is YAML.
func decisionTest(point string, request json.RawMessage, e *view.Explanation) string {
	var decided struct {
		Allowed bool `json:"allowed"`
		Denied  bool `json:"denied"`
	}
	if err := json.Unmarshal(e.Decision, &decided); err != nil {
		return ""
	}
	expected, members := map[string]any{"allowed": decided.Allowed, "denied": decided.Denied}, map[string]json.RawMessage{}
	if err := json.Unmarshal(e.Decision, &members); err == nil && point == "visibility" {
		expected = map[string]any{}
		if authorization, ok := members["decision"]; ok {
			expected["decision"] = authorization
		}
	}
	return "apiVersion: writ.dev/v1\nkind: DecisionTest\nmetadata: {name: asked}\nspec:\n  point: " + point +
		"\n  cases:\n    - name: " + string(encode(caseName(request))) +
		"\n      request: " + string(request) + "\n      expect: " + string(encode(expected)) + "\n"
}

// caseName says in short what a request asks for.
func caseName(request json.RawMessage) string {
	return strings.TrimSpace(who(request) + " " + what(request))
}
