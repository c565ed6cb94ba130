package server

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"github.com/writ-policy/writ/server/auth"
)

// checkListeners returns an error for each listener that may not be opened, and for
// settings of callers that have no effect: the operator relies on them.
func (c *Config) checkListeners() []error {
	var errs []error
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		errs = append(errs, fmt.Errorf("listen address %q: must be HOST:PORT, such as 127.0.0.1:8686, or :8686 for all addresses", c.Listen))
	} else {
		errs = append(errs, c.checkReach("--listen", c.Listen)...)
	}
	for _, l := range [...]struct {
		of, address string
		reach       []error
	}{
		{"Envoy", c.Envoy.Listen, c.checkReach("--envoy-listen", c.Envoy.Listen)},
		{"operators", c.Admin.Listen, c.checkReach("--admin-listen", c.Admin.Listen)},
		{"metrics", c.Metrics.Listen, c.checkReach("--metrics-listen", c.Metrics.Listen)},
		{"the page", c.Page.Listen, c.checkPageReach()},
	} {
		if _, _, err := net.SplitHostPort(l.address); l.address != "" && err != nil {
			errs = append(errs, fmt.Errorf("listen address %q for %s: %w", l.address, l.of, err))
		} else {
			errs = append(errs, l.reach...)
		}
	}
	if c.Callers.OIDC.URL != "" {
		if err := c.Callers.OIDC.Check(); err != nil {
			errs = append(errs, err)
		}
	}
	for _, pair := range []struct {
		wrong   bool
		message string
	}{
		{(c.Admin.Listen == "") != (len(c.Callers.Operators) == 0), "--admin-listen and --operators require each other"},
		{c.Admin.Listen != "" && !c.hasCredentials(), "--admin-listen requires credentials of operators on every address: " + credentialFlags},
		{c.Page.Listen != "" && c.Page.Mode == PageOff, "--page off and --page-listen are mutually exclusive"},
		{len(c.Callers.Auditors) > 0 && !c.hasCredentials(), "--auditors requires credentials of callers: " + credentialFlags},
		{c.Callers.OIDC.Audience != "" && c.Callers.OIDC.URL == "", "--oidc-audience requires --oidc-issuer"},
		{len(c.Callers.TokenReviewAudiences) > 0 && c.Callers.TokenReview == "", "--token-review-audience requires --token-review"},
		{(c.TLS.Cert == "") != (c.TLS.Key == ""), "a TLS certificate and its key require each other"},
		{c.TLS.ClientCA != "" && c.TLS.Cert == "", "a client CA requires a TLS certificate and key"},
		{c.TLS.RequireClientCert && c.TLS.ClientCA == "", "--require-client-cert requires --client-ca"},
	} {
		if pair.wrong {
			errs = append(errs, errors.New(pair.message))
		}
	}
	return errs
}

// checkReach returns an error if other machines reach a listener without TLS, or without
// a statement on who may ask. An empty address is not a listener.
func (c *Config) checkReach(flag, address string) []error {
	if address == "" || isLoopback(address) {
		return nil
	}
	var missing []string
	if c.TLS.Cert == "" && !c.Callers.InsecureListen {
		missing = append(missing, "TLS (--tls-cert and --tls-key, or --insecure-listen to do without)")
	}
	if !c.hasCredentials() && !c.Callers.Anonymous {
		missing = append(missing, "credentials of callers ("+credentialFlags+", or --anonymous to answer every caller with decisions)")
	}
	if len(missing) == 0 {
		return nil
	}
	return []error{fmt.Errorf("%s %s: other machines reach this address, so it requires %s", flag, address, strings.Join(missing, " and "))}
}

// credentialFlags are the flags that configure credentials.
const credentialFlags = "--client-ca, --tokens, --oidc-issuer or --token-review"

func (c *Config) hasCredentials() bool {
	return c.TLS.ClientCA != "" || c.Callers.Tokens != "" || c.Callers.OIDC.URL != "" || c.Callers.TokenReview != ""
}

// isLoopback reports whether only this machine reaches an address.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	at, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && at.Unmap().IsLoopback()
}

// rule is who may ask on a listener.
func (s *Server) rule(address string) auth.Rule {
	c := &s.config
	r := auth.Rule{
		Loopback: isLoopback(address), Anonymous: c.Callers.Anonymous, AllowedHosts: c.Callers.AllowedHosts,
		Auditors: c.Callers.Auditors, Operators: c.Callers.Operators,
	}
	if !c.hasCredentials() {
		return r
	}
	var union auth.Union
	var chain auth.Chain // a nil *Tokens in the interface would not be nil
	if s.tokens != nil {
		chain = append(chain, s.tokens)
	}
	if s.issuer != nil {
		chain = append(chain, s.issuer)
	}
	if s.reviews != nil {
		chain = append(chain, s.reviews)
	}
	if chain != nil {
		union.Tokens = chain
	}
	if c.TLS.ClientCA != "" {
		union.Certificates = s.clients
	}
	r.Authenticator = union
	return r
}
