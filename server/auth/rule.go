package auth

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// Role is what an endpoint requires of its callers. The zero value requires the most.
type Role int

// The roles.
const (
	// Operator may change the active revision. It needs credentials on every listener.
	Operator Role = iota
	// Auditor may see documents, diagnostics, effective policies, lists and logs.
	Auditor
	// Authenticated may ask about itself.
	Authenticated
	// Decisions may ask for decisions about any subject. It is the role of enforcement
	// points, and the only one of callers that Rule.Anonymous admits.
	Decisions
	// Public is the role of endpoints without authentication, such as probes.
	Public
)

// String returns the name of the role.
func (r Role) String() string {
	return [...]string{"operator", "auditor", "authenticated", "decisions", "public"}[r]
}

// Rule is who may ask on a listener. The zero value admits callers to Public alone.
type Rule struct {
	// Authenticator authenticates callers; nil if no credentials are configured.
	Authenticator Authenticator
	// Loopback marks a listener that only this machine reaches. Without credentials
	// every caller has every role there but Operator.
	Loopback bool
	// Anonymous admits callers without credentials to Decisions.
	Anonymous bool
	// Auditors and Operators are the groups that have these roles.
	Auditors  []string
	Operators []string
	// AllowedHosts are names, beside addresses and localhost, that a loopback listener
	// answers for. A port is ignored.
	AllowedHosts []string
	// IsProxied marks a listener of a front proxy, whose certificate is required: where
	// browsers send requests from is for the proxy to check.
	IsProxied bool
}

// IsOpen reports whether every caller that reaches the listener is admitted.
func (r *Rule) IsOpen() bool { return r.Loopback && r.Authenticator == nil }

// Admit returns the caller, nil if it is not authenticated and need not be, or an error
// of this package.
func (r *Rule) Admit(ctx context.Context, c Credentials, role Role) (*Caller, error) {
	if r.IsOpen() && role != Operator {
		return nil, nil
	}
	caller, err := r.authenticate(ctx, c)
	switch {
	case errors.Is(err, ErrConnection):
		return nil, err
	case role == Public:
		return nil, nil
	case err != nil:
		return nil, err
	case caller == nil && role == Decisions && r.Anonymous:
		return nil, nil
	case caller == nil:
		return nil, errCredentials
	case !r.Has(caller, role):
		return nil, ErrRole
	}
	return caller, nil
}

func (r *Rule) authenticate(ctx context.Context, c Credentials) (*Caller, error) {
	if r.Authenticator != nil {
		return r.Authenticator.Authenticate(ctx, c)
	}
	if len(c.Authorization) > 0 {
		return nil, errCredentials
	}
	return nil, nil
}

// Has reports whether a caller that was admitted has a role.
func (r *Rule) Has(caller *Caller, role Role) bool {
	if r.IsOpen() && role != Operator {
		return true
	}
	switch role {
	case Operator:
		return caller.isIn(r.Operators)
	case Auditor:
		return caller.isIn(r.Auditors)
	case Authenticated:
		return caller != nil
	case Public, Decisions:
		return true
	}
	return false
}

// isIn reports whether the caller is in one of the groups.
func (c *Caller) isIn(groups []string) bool {
	return c != nil && slices.ContainsFunc(c.Groups, func(group string) bool { return slices.Contains(groups, group) })
}

// AnswersFor reports whether the listener answers requests for a host, as the header
// Host has it. A page of another site can give itself a name that resolves to this
// machine; its requests carry that name.
func (r *Rule) AnswersFor(host string) bool {
	if !r.Loopback {
		return true
	}
	host = withoutPort(host)
	if strings.EqualFold(host, "localhost") {
		return true
	}
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return true
	}
	return slices.ContainsFunc(r.AllowedHosts, func(name string) bool { return strings.EqualFold(withoutPort(name), host) })
}

func withoutPort(host string) string {
	if !strings.Contains(host, ":") { // its error would be an allocation for each request
		return host
	}
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return host
}

// IsCrossSite reports whether a browser sent a request for a page of another site. What
// is not a browser sends neither header.
func IsCrossSite(header http.Header, host string) bool {
	sites := header["Sec-Fetch-Site"]
	for _, site := range sites {
		if site != "same-origin" && site != "none" {
			return true
		}
	}
	if len(sites) > 0 {
		return false
	}
	for _, origin := range header["Origin"] {
		if u, err := url.Parse(origin); err != nil || u.Host == "" || !strings.EqualFold(u.Host, host) {
			return true
		}
	}
	return false
}
