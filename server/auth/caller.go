// Package auth authenticates callers: who sent a request. It knows no endpoint and no
// policy.
//
// Not part of the promised API; see package writ.
package auth

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

// Is reports whether the caller has that name. No name is that of a nil Caller.
func (c *Caller) Is(user string) bool { return c != nil && c.Name == user }

// Authenticator identifies the sender of a request. It is safe for concurrent use.
type Authenticator interface {
	// Authenticate returns nil, nil for a request without credentials, and an error
	// for one whose credentials are not accepted. The error is for the log: callers
	// learn only that they are not.
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
