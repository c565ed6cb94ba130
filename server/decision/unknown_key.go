package decision

import (
	"errors"
	"fmt"
	"strings"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/jsontext"
)

// errUnknownKey is the error of a member of a request that has no meaning.
var errUnknownKey = errors.New("unknown key")

// accessKeys and visibilityKeys are the keys of requests, for suggestions.
var (
	accessKeys = []string{
		"user", "groups", "verb", "apiGroup", "resource", "subresource", "namespace", "name", "path", "cluster", "tenant",
		"session", "escalation", "fields", "labels", "namespaceLabels", "extra", "pod", "podError", "attributes",
	}
	visibilityKeys = []string{"user", "groups", "serviceAccount", "action", "type", "cluster", "items", "aggregations", "metrics"}
)

// unknownKey returns the error of a request with an unknown key: it names the line, if the
// request has several, and the known key that is meant.
func unknownKey(request Value, key string, known []string) *InvalidRequest {
	message := "unknown key " + quoteKey(key)
	if line := lineOfKey(request, key); line > 0 {
		message = fmt.Sprintf("line %d: %s", line, message)
	}
	if near := diag.Suggest(key, known); near != "" {
		message += fmt.Sprintf(", did you mean %q?", near)
	}
	return invalid(key, "%s", message)
}

// lineOfKey returns the line of a key at the top of a request, from 1, or 0 if the request
// is one line.
func lineOfKey(request Value, key string) int {
	text := string(request)
	if !strings.Contains(strings.TrimSpace(text), "\n") {
		return 0
	}
	tokens := jsontext.TokensOf([]byte(text))
	depth := 0
	isKey := false // the next token at depth 1 is a key
	for {
		token := tokens.Next()
		switch {
		case token.Kind == '{' || token.Kind == '[':
			depth++
			isKey = depth == 1
			continue
		case token.Kind == '}' || token.Kind == ']':
			if depth--; depth == 0 {
				return 0
			}
			isKey = depth == 1
			continue
		case depth != 1:
			continue
		case isKey && tokens.Text(token) == key:
			return 1 + strings.Count(text[:token.Start], "\n")
		}
		isKey = !isKey
	}
}
