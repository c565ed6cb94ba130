package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/writ-policy/writ/server/auth"
	"github.com/writ-policy/writ/server/page"
	"github.com/writ-policy/writ/server/view"
	"github.com/writ-policy/writ/translator/syntax"
)

// The values of PageConfig.Mode.
const (
	// PageAuto serves the page if Config.Listen is reachable from this machine only, and
	// client certificates are not used.
	PageAuto = "auto"
	PageOn   = "on"
	PageOff  = "off"
)

// hasPage reports whether the listener for callers has the page and its endpoints.
func (c *Config) hasPage() bool {
	switch {
	case c.Page.Mode == PageOff:
		return false
	case c.Page.Mode == PageOn:
		return true
	}
	return isLoopback(c.Listen) && c.TLS.ClientCA == ""
}

// checkPage returns an error for each setting of the page that shows documents and people
// to machines that are not named, or that has no effect.
func (c *Config) checkPage() []error {
	var errs []error
	if c.Page.Mode == PageOn {
		errs = append(errs, c.checkPageReach("--page on", c.Listen)...)
	}
	return errs
}

// checkPageReach returns an error if other machines reach the page without TLS, or
// without credentials of callers.
func (c *Config) checkPageReach(flag, address string) []error {
	if isLoopback(address) || c.TLS.Cert != "" && c.hasCredentials() {
		return nil
	}
	return []error{fmt.Errorf("%s: other machines reach the page at %s, so it requires TLS (--tls-cert and --tls-key) and credentials of callers (%s)", flag, address, credentialFlags)}
}

// withPage returns a handler that has the page, and passes other requests on.
func (s *Server) withPage(address string, next http.Handler) http.Handler {
	rule := s.rule(address)
	hosts := rule
	hosts.Loopback = true // a page shows people and documents: its host is checked on every listener
	return page.New(page.Options{
		Console: s.explorer, Caller: pageCaller(&rule), JSON: jsonOf,
		AnswersFor: hosts.AnswersFor, Next: next, Secure: s.tls != nil, Now: s.config.Now,
		Answered: func(route, method string, status int) { s.metrics.Route(route).Answered(method, status) },
		Panicked: func(ctx context.Context, route string, cause any) {
			s.log.ErrorContext(ctx, "the page panicked", "route", route, "cause", cause)
		},
	})
}

// pageCaller authenticates who looks at the page.
func pageCaller(rule *auth.Rule) func(*http.Request) (view.Caller, error) {
	return func(r *http.Request) (view.Caller, error) {
		caller, err := rule.Admit(r.Context(), auth.Credentials{Authorization: r.Header["Authorization"], TLS: r.TLS}, auth.Authenticated)
		if errors.Is(err, auth.ErrUnavailable) {
			return view.Caller{}, page.ErrUnavailable
		}
		if err != nil {
			return view.Caller{}, err
		}
		looks := view.Caller{SeesAll: rule.Has(caller, auth.Auditor)}
		if caller != nil {
			looks.User, looks.Groups = caller.Name, caller.Groups
		}
		return looks, nil
	}
}

// logPage logs where the page is.
func (s *Server) logPage(address net.Addr) {
	if !s.config.hasPage() {
		return
	}
	scheme := "http"
	if s.tls != nil {
		scheme = "https"
	}
	s.log.Info("page: " + scheme + "://" + address.String() + "/page/")
}

// jsonOf returns a YAML document as JSON, read as documents are: "yes" is a string.
func jsonOf(text []byte) ([]byte, error) {
	d, root := syntax.Parse("", text)
	if root != nil {
		if value, ok := d.Value(root); ok {
			return json.Marshal(value)
		}
	}
	if len(d.Diags) > 0 {
		return nil, fmt.Errorf("line %d: %s", d.Diags[0].Position.Line, d.Diags[0].Message)
	}
	return nil, errors.New("there is no value")
}
