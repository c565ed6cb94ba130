package page

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/writ-policy/writ/server/console"
)

// carry is the question for a shell and for a test. The lines hold no token. at is when the
// request is decided; empty means now.
func carry(q *question, point string, request json.RawMessage, e *console.Explanation, at string) []carried {
	curl := "curl -s " + shell(q.base+"/v1/decisions/"+point) + " -H 'Content-Type: application/json' -d " + shell(string(request))
	if q.caller.User != "" {
		curl += ` -H "Authorization: Bearer $WRIT_TOKEN"`
	}
	eval := "printf '%s\\n' " + shell(string(request)) + " | writ eval " + evalFlags(q) + " --point " + point
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

// evalFlags are the arguments of writ eval. A caller who may not know where the documents
// come from names the directory.
func evalFlags(q *question) string {
	words := q.evalFlags
	if !q.caller.SeesAll {
		words = []string{"--policies", "policies"}
	}
	quoted := make([]string, 0, len(words))
	for _, word := range words {
		if strings.Trim(word, plainLetters) != "" {
			word = shell(word)
		}
		quoted = append(quoted, word)
	}
	return strings.Join(quoted, " ")
}

// plainLetters need no quotes in a shell.
const plainLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./="

// shell quotes a text for a POSIX shell.
func shell(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// decisionTest is a test that expects the decision, at the time of the question: a decision
// may depend on it. JSON is YAML.
func decisionTest(point string, request json.RawMessage, e *console.Explanation, at string) string {
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
