package auth

import (
	"context"
	"crypto/x509"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// FrontProxyTrust is which proxies authenticate users, and the headers in which they name
// them, as the flags --requestheader-* of Kubernetes state it. It is never changed.
type FrontProxyTrust struct {
	// Authorities sign the client certificates of proxies. Names are the common names that
	// such certificates may have; empty means any.
	Authorities *x509.CertPool
	Names       []string
	// UserHeaders are the headers of the user: the first that is there counts. The values of
	// all GroupHeaders are the groups, and the rest of a header with one of ExtraPrefixes is a
	// key of the user's extra.
	UserHeaders, GroupHeaders, ExtraPrefixes []string
}

// FrontProxy authenticates users of requests that a proxy sends, such as the API server for
// an aggregated API. It is safe for concurrent use.
type FrontProxy struct {
	trust        func() *FrontProxyTrust
	certificates *Certificates
}

// NewFrontProxy returns an authenticator by what trust returns; nil means that it is not
// known at the moment.
func NewFrontProxy(trust func() *FrontProxyTrust) *FrontProxy {
	return &FrontProxy{trust, NewCertificates(func() *x509.CertPool {
		if t := trust(); t != nil {
			return t.Authorities
		}
		return x509.NewCertPool()
	})}
}

// Authenticate identifies the user that the headers name, if the proxy has a certificate.
func (f *FrontProxy) Authenticate(ctx context.Context, given Credentials) (*Caller, error) {
	t := f.trust()
	if t == nil {
		return nil, ErrUnavailable
	}
	proxy, err := f.certificates.Authenticate(ctx, given)
	switch {
	case proxy == nil || err != nil:
		return nil, err
	case len(t.Names) > 0 && !slices.Contains(t.Names, proxy.Name):
		return nil, errCredentials
	}
	caller := &Caller{Extra: extraOf(given.Header, t.ExtraPrefixes)}
	for _, name := range t.UserHeaders {
		values := given.Header.Values(name)
		if len(values) > 1 {
			return nil, errCredentials
		}
		if len(values) == 1 && values[0] != "" && caller.Name == "" {
			caller.Name = values[0]
		}
	}
	if caller.Name == "" {
		return nil, errCredentials
	}
	for _, name := range t.GroupHeaders {
		for _, group := range given.Header.Values(name) {
			if group != "" {
				caller.Groups = append(caller.Groups, group)
			}
		}
	}
	return caller, nil
}

// extraOf returns the extra of a user. Keys are in lower case and may be escaped as in URLs.
func extraOf(header http.Header, prefixes []string) map[string][]string {
	extra := make(map[string][]string)
	for _, name := range slices.Sorted(maps.Keys(header)) {
		for _, prefix := range prefixes {
			if len(name) <= len(prefix) || !strings.EqualFold(name[:len(prefix)], prefix) {
				continue
			}
			key := strings.ToLower(name[len(prefix):])
			if plain, err := url.PathUnescape(key); err == nil {
				key = plain
			}
			extra[key] = append(extra[key], header[name]...)
		}
	}
	return extra
}
