// Package auth decides who may ask: it authenticates callers by their credentials, and
// admits them by role. It knows no endpoint, no protocol and no policy.
//
// # Design
//
// There is one Rule for each listener, and each endpoint states its Role. Roles follow
// from the groups of a caller and from flags, never from documents: an endpoint that
// shows broken documents must not depend on them.
package auth

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Caller is an authenticated sender of requests. It is never changed.
type Caller struct {
	Name   string
	UID    string
	Groups []string
	// Extra is what a front proxy adds; the map must not be modified.
	Extra map[string][]string
}

// Is reports whether the caller has that name. No name is that of a nil Caller.
func (c *Caller) Is(user string) bool { return c != nil && c.Name == user }

// Credentials are what a request offers to prove its sender. The zero value means no credentials.
type Credentials struct {
	// Authorization are the values of the header of that name.
	Authorization []string
	// TLS is the state of the connection; nil without TLS.
	TLS *tls.ConnectionState
	// Header is that of the request. Only a FrontProxy reads it.
	Header http.Header
}

// Authenticator identifies the sender of a request. It is safe for concurrent use.
type Authenticator interface {
	// Authenticate returns nil, nil for a request without credentials. It returns
	// errCredentials for credentials that are not accepted, errForeign if another
	// authenticator may accept them, ErrUnavailable if that is not known, and
	// ErrConnection if no request on the connection is accepted.
	Authenticate(context.Context, Credentials) (*Caller, error)
}

// Errors of authentication and of roles.
var (
	// errCredentials rejects credentials that are missing or not accepted.
	errCredentials = errors.New("the credentials are not accepted")
	// errForeign rejects a token that is unknown here.
	errForeign = fmt.Errorf("%w: the token is unknown", errCredentials)
	// ErrUnavailable rejects credentials while what knows them does not answer.
	ErrUnavailable = errors.New("the credentials cannot be checked at the moment")
	// ErrConnection rejects a connection whose client certificate is not accepted any
	// more. It should be closed.
	ErrConnection = errors.New("the client certificate of the connection is not accepted any more")
	// ErrRole rejects a caller without the role.
	ErrRole = errors.New("the groups of the caller do not permit this request")
)

// bearer returns the token; empty without one.
func bearer(values []string) (string, error) {
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

type callerKey struct{}

// WithCaller returns a context of a request from the caller.
func WithCaller(ctx context.Context, caller *Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, caller)
}

// CallerOf returns the caller of a request; nil if it is not authenticated.
func CallerOf(ctx context.Context) *Caller {
	caller, _ := ctx.Value(callerKey{}).(*Caller)
	return caller
}
