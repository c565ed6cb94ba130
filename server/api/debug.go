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

// unknownCaller is the debugging API's refusal of a request without an authenticated
// caller. A name in a header or a parameter does not authenticate.
var unknownCaller = &refusal{status: http.StatusUnauthorized, message: "authentication required"}

// principal is whom the debugging API answers about: its caller alone.
func (s *service) principal(c *gin.Context) (decision.Principal, *refusal) {
	caller, refused := s.caller(c.Request)
	if refused != nil || caller == nil {
		return decision.Principal{}, unknownCaller
	}
	return decision.Principal{User: caller.Name, Groups: caller.Groups}, nil
}

// callerHandler answers about a principal: a value that is written as JSON, and the
// listing it is made of.
type callerHandler func(context.Context, decision.Policies, decision.Principal, url.Values) (any, *decision.Listing, *refusal)

// callerEndpoint is an endpoint of the debugging API that takes these parameters.
func (s *service) callerEndpoint(parameters []string, answer callerHandler) gin.HandlerFunc {
	return func(c *gin.Context) {
		if refused := s.answerCaller(c, parameters, answer); refused != nil {
			s.refuse(c, refused)
		}
	}
}

func (s *service) answerCaller(c *gin.Context, parameters []string, answer callerHandler) *refusal {
	who, refused := s.principal(c)
	if refused != nil {
		return refused
	}
	policies, refused := s.policies(c)
	if refused != nil {
		return refused
	}
	query, refused := queryOf(c.Request.URL.RawQuery, parameters)
	if refused != nil {
		return refused
	}
	// Each may try all clusters or types.
	if !s.listing.acquire(maxListing) {
		s.Metrics.Shed()
		return errTooManyRequests
	}
	defer s.listing.release()
	ctx, cancel := context.WithTimeout(c.Request.Context(), s.Timeout)
	defer cancel()
	value, listing, refused := answer(ctx, policies, who, query)
	if refused != nil {
		return refused
	}
	if listing.EvaluationError != "" {
		return &refusal{status: http.StatusServiceUnavailable, message: "evaluation error: " + listing.EvaluationError}
	}
	writeObject(c, value)
	return nil
}

// queryOf refuses parameters that an endpoint does not take: the answer would look
// like one that respects them.
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
	writeObject(c, map[string]any{
		"message": "Cache cleared successfully", "rbac_entries_cleared": s.Cache.Forget(s.Current(), who.User), "user": who.User,
	})
}

// bodyless refuses a body: the caller may expect it to have an effect.
func bodyless(r *http.Request) *refusal {
	if n, _ := io.ReadFull(r.Body, make([]byte, 1)); n > 0 {
		return &refusal{status: http.StatusBadRequest, message: "the request takes no body"}
	}
	return nil
}

// instant is a time as the debugging API writes it.
func instant(at time.Time) string { return at.UTC().Format(time.RFC3339) }
