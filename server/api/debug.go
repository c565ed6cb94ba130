package api

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"github.com/writ-policy/writ/server/decision"
)

// Forgetter is a Reviewer that keeps authorizations and can be told to drop those
// of a user.
type Forgetter interface {
	// Forget says how many there were. The user is a name, and never a pattern.
	Forget(user string) int
}

const (
	debugPath = "/api/v1/auth/"
	typesPath = "/api/v1/custom-types"
)

// speaksDebug reports whether errors below path are objects with the one key
// error, as clients of the debugging API read them.
func speaksDebug(path string) bool {
	return strings.HasPrefix(path, debugPath) || path == typesPath
}

// errorBody is a refusal in the debugging API's form.
func errorBody(r *refusal) []byte {
	b := decision.AppendString([]byte(`{"error":`), line(r.message, maxText))
	return append(b, "}\n"...)
}

// unknownCaller is the debugging API's refusal of a request that nobody is behind.
// Whom a header or a parameter names is nobody.
var unknownCaller = &refusal{status: http.StatusUnauthorized, message: "authentication required"}

// principal is whom the debugging API answers about: its caller and nobody else.
func (s *service) principal(c *gin.Context) (decision.Principal, *refusal) {
	caller, refused := s.caller(c.Request)
	if refused != nil || caller == nil {
		return decision.Principal{}, unknownCaller
	}
	return decision.Principal{User: caller.Name, Groups: caller.Groups}, nil
}

// debugging answers a principal: a value that is written as JSON, and the listing
// that it is made of.
type debugging func(context.Context, decision.Principal, url.Values) (any, *decision.Listing, *refusal)

// debugged is a door of the debugging API that takes these parameters.
func (s *service) debugged(parameters []string, answer debugging) gin.HandlerFunc {
	return func(c *gin.Context) {
		who, refused := s.principal(c)
		if refused == nil {
			refused = s.demanded(c)
		}
		if refused == nil {
			refused = s.listed(c, who, parameters, answer)
		}
		if refused != nil {
			s.refuse(c, refused)
		}
	}
}

func (s *service) listed(c *gin.Context, who decision.Principal, parameters []string, answer debugging) *refusal {
	query, refused := queryOf(c.Request.URL.RawQuery, parameters)
	if refused != nil {
		return refused
	}
	// Each may try every cluster or type there is.
	defer s.listing.Add(-1)
	if s.listing.Add(1) > maxListing {
		s.Metrics.Shed()
		return crowded
	}
	ctx, cancel := context.WithTimeout(c.Request.Context(), s.Timeout)
	defer cancel()
	value, listing, refused := answer(ctx, who, query)
	if refused != nil {
		return refused
	}
	if listing.Trouble != "" {
		return &refusal{status: http.StatusServiceUnavailable, message: "trouble while evaluating: " + listing.Trouble}
	}
	s.answeredBy(c, listing.Revision)
	writeObject(c, value)
	return nil
}

// queryOf refuses parameters that a door does not take: one that is ignored would
// be taken for an answer about it.
func queryOf(raw string, parameters []string) (url.Values, *refusal) {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return nil, malformedQuery
	}
	for name, values := range query {
		if !slices.Contains(parameters, name) {
			return nil, &refusal{status: http.StatusBadRequest, message: "there is no parameter " + line(name, maxName)}
		}
		for _, value := range values {
			if !utf8.ValidString(value) {
				return nil, malformedQuery
			}
		}
	}
	return query, nil
}

var malformedQuery = &refusal{status: http.StatusBadRequest, message: "the query is malformed"}

// writeObject writes what is made of texts and numbers only.
func writeObject(c *gin.Context, value any) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err) // the guard answers
	}
	write(c, http.StatusOK, jsonType, b.Bytes())
}

// monitor is what tells of the visibility point.
func (s *service) monitor() decision.Monitor {
	if monitor, ok := s.Reviewer.(decision.Monitor); ok {
		return monitor
	}
	return decision.NoMonitor("nothing tells of the visibility point")
}

// labelsOf are the labels of a cluster, as far as they are known.
func (s *service) labelsOf(cluster string) map[string]string {
	if labels, ok := s.Clusters.(ClusterLabels); ok {
		return labels.Labels(cluster)
	}
	return nil
}

// clearCache drops what is kept for the caller.
func (s *service) clearCache(c *gin.Context) {
	who, refused := s.principal(c)
	if refused == nil {
		_, refused = queryOf(c.Request.URL.RawQuery, nil)
	}
	if refused == nil {
		refused = bodyless(c.Request)
	}
	if refused != nil {
		s.refuse(c, refused)
		return
	}
	cleared := 0
	if forgetter, ok := s.Reviewer.(Forgetter); ok {
		cleared = forgetter.Forget(who.User)
	}
	writeObject(c, map[string]any{
		"message": "Cache cleared successfully", "rbac_entries_cleared": cleared, "user": who.User,
	})
}

// bodyless refuses a body, which somebody may think says whose entries to clear.
func bodyless(r *http.Request) *refusal {
	if n, _ := io.ReadFull(r.Body, make([]byte, 1)); n > 0 {
		return &refusal{status: http.StatusBadRequest, message: "the request takes no body"}
	}
	return nil
}

// instant is a time as the debugging API writes it.
func instant(at time.Time) string { return at.UTC().Format(time.RFC3339) }
