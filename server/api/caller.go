package api

import (
	"errors"
	"net/http"
	"strings"
)

// Caller is who asks, as the server authenticated it. It is never changed.
type Caller struct {
	Name   string
	UID    string
	Groups []string
}

// is reports whether the caller is of that name.
func (c *Caller) is(user string) bool { return c != nil && c.Name == user }

// Authenticator says who sent a request. It is safe for concurrent use.
type Authenticator interface {
	// Authenticate is nil, nil for a request that does not say who sends it, and
	// an error for one whose credentials are not accepted. The error is for the
	// log: callers learn only that they are not.
	Authenticate(r *http.Request) (*Caller, error)
}

// errCredentials is the error of unknown credentials.
var errCredentials = errors.New("the credentials are not accepted")

// bearer is the token of a request; empty without one.
func bearer(r *http.Request) (string, error) {
	values := r.Header["Authorization"]
	if len(values) == 0 {
		return "", nil
	}
	scheme, token, found := strings.Cut(values[0], " ")
	token = strings.TrimLeft(token, " ")
	if len(values) > 1 || !found || !strings.EqualFold(scheme, "Bearer") || token == "" {
		return "", errCredentials
	}
	return token, nil
}

// caller is the authenticated caller; nil without an authenticator or credentials.
func (s *service) caller(r *http.Request) (*Caller, *refusal) {
	if s.Authenticator == nil {
		return nil, nil
	}
	caller, err := s.Authenticator.Authenticate(r)
	if err != nil {
		s.Logger.InfoContext(r.Context(), "a caller was not accepted", "from", r.RemoteAddr, "error", err)
		return nil, unauthorized()
	}
	return caller, nil
}

func unauthorized() *refusal {
	return &refusal{status: http.StatusUnauthorized, message: "the request needs a caller the server can authenticate"}
}
