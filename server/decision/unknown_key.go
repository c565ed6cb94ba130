package decision

import (
	"errors"
	"strings"

	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/vocabulary"
)

// errUnknownKey is the error of a member of a request that has no meaning.
var errUnknownKey = errors.New("unknown key")

// The keys of requests at each point, for suggestions.
var (
	accessKeys     = vocabulary.RequestKeys
	visibilityKeys = []string{"user", "groups", "serviceAccount", "action", "type", "cluster", "items", "aggregations", "metrics"}
	gatewayKeys    = [...]string{
		gatewayKey: "gateway", routeKey: "route", requestKey: "request", sourceKey: "source", destinationKey: "destination",
		connectionKey: "connection", metadataKey: "metadata", authKey: "auth",
	}
)

// The places of keys in gatewayKeys.
const (
	gatewayKey = iota
	routeKey
	requestKey
	sourceKey
	destinationKey
	connectionKey
	metadataKey
	authKey
)

// unknownKey returns the error of a request with an unknown key.
func unknownKey(request Value, key string, known []string) *InvalidRequest {
	err := invalid(key, "unknown key %s", quoteKey(key))
	err.Line, err.Near = lineOfKey(request, key), diag.Suggest(key, known)
	return err
}

// lineOfKey returns the line of a key at the top of a request, from 1, or 0 if the request
// is one line.
func lineOfKey(request Value, key string) int {
	text := request.String()
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
