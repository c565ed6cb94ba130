package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/writ-policy/writ/server/api"
	"github.com/writ-policy/writ/server/auth"
	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/server/console/page"
	"github.com/writ-policy/writ/translator/settings"
	"github.com/writ-policy/writ/translator/source"
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
	case c.Page.Mode == PageOff, c.Page.Listen != "":
		return false
	case c.Page.Mode == PageOn:
		return true
	}
	return isLoopback(c.Listen) && c.TLS.ClientCA == ""
}

// checkPageReach returns an error if other machines reach the page without TLS, or
// without credentials of callers: it shows documents and people.
func (c *Config) checkPageReach() []error {
	flag, address := "--page on", c.Listen
	if c.Page.Listen != "" {
		flag, address = "--page-listen "+c.Page.Listen, c.Page.Listen
	}
	if !c.hasPage() && c.Page.Listen == "" || isLoopback(address) || c.TLS.Cert != "" && c.hasCredentials() {
		return nil
	}
	return []error{fmt.Errorf("%s: other machines reach the page at %s, so it requires TLS (--tls-cert and --tls-key) and credentials of callers (%s)", flag, address, credentialFlags)}
}

// listenPage opens the listener of the page and its endpoints; nil if none is configured.
// callers is the address in use of the listener for callers.
func (s *Server) listenPage(ctx context.Context, callers net.Addr) (*webListener, error) {
	c := &s.config
	l, err := s.listenWeb(ctx, c.Page.Listen, "listening for browsers", c.Page.Listening)
	if l == nil || err != nil {
		return nil, err
	}
	if s.tls != nil {
		l.web.TLSConfig = s.tls.configOfBrowsers()
	}
	l.web.Handler = s.withPage(c.Page.Listen, api.NewConsole(s.apiOptions(c.Page.Listen)), func(host string) string {
		return s.scheme() + addressFor(host, callers)
	})
	s.logPage(l.listener.Addr())
	return l, nil
}

// addressFor is a listener's address for a client that reaches this machine at host. A
// listener on all addresses is at the client's.
func addressFor(host string, listener net.Addr) string {
	at, err := netip.ParseAddrPort(listener.String())
	if err != nil || !at.Addr().IsUnspecified() {
		return listener.String()
	}
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return net.JoinHostPort(strings.Trim(host, "[]"), strconv.Itoa(int(at.Port())))
}

func (s *Server) scheme() string {
	if s.tls != nil {
		return "https://"
	}
	return "http://"
}

// withPage returns a handler that has the page, and passes other requests on. endpoints
// returns the scheme and host of the endpoints for callers, for a reader of the page at host.
func (s *Server) withPage(address string, next http.Handler, endpoints func(host string) string) http.Handler {
	if public := s.config.PublicURL; public != "" {
		endpoints = func(string) string { return public }
	}
	rule := s.rule(address)
	hosts := rule
	hosts.Loopback = true // a page shows people and documents: its host is checked on every listener
	return page.New(page.Options{
		Console: s.explorer, Caller: pageCaller(&rule), JSON: jsonOf,
		AnswersFor: hosts.AnswersFor, Next: next, Endpoints: endpoints, EvalFlags: s.config.evalFlags(), Secure: s.tls != nil, Now: s.config.Now,
		Answered: func(route, method string, status int) { s.metrics.Route(route).Answered(method, status) },
		Panicked: func(ctx context.Context, route string, cause any) {
			s.log.ErrorContext(ctx, "the page panicked", "route", route, "cause", cause)
		},
	})
}

// evalFlags are the arguments by which writ eval reads the documents, and decides, as the
// server does, from any directory of this machine. What it cannot read has a placeholder: a
// checkout for a repository, a download for a bundle of a server.
func (c *Config) evalFlags() []string {
	var words []string
	for _, text := range c.Policies {
		location, err := source.ParseLocation(text)
		switch {
		case err != nil || location.Git != nil:
			text = "policies"
		case location.Dir != "":
			text = absolute(location.Dir)
		}
		words = append(words, "--policies", text)
	}
	if text := c.Bundle.Location; text != "" {
		if text = absolute(text); !isFile(text) {
			text = "bundle.tar.gz"
		}
		words = append(words, "--bundle", text)
	}
	for _, key := range settings.Keys() {
		if value, ok := c.Settings[key]; ok {
			words = append(words, "--"+string(key)+"="+value.Text)
		}
	}
	for _, f := range []struct {
		isSet bool
		name  string
	}{{c.AllowEmpty, "--allow-empty"}, {c.NoIgnore, "--no-ignore"}, {c.RequireRoute, "--require-route"}} {
		if f.isSet {
			words = append(words, f.name)
		}
	}
	return words
}

// absolute is a path from the root, and the path itself if the working directory is not known.
func absolute(path string) string {
	if whole, err := filepath.Abs(path); err == nil {
		return whole
	}
	return path
}

func isFile(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// pageCaller authenticates who looks at the page.
func pageCaller(rule *auth.Rule) func(*http.Request) (console.Caller, error) {
	return func(r *http.Request) (console.Caller, error) {
		caller, err := rule.Admit(r.Context(), auth.Credentials{Authorization: r.Header["Authorization"], TLS: r.TLS}, auth.Authenticated)
		if errors.Is(err, auth.ErrUnavailable) {
			return console.Caller{}, page.ErrUnavailable
		}
		if err != nil {
			return console.Caller{}, err
		}
		looks := console.Caller{SeesAll: rule.Has(caller, auth.Auditor)}
		if caller != nil {
			looks.User, looks.Groups = caller.Name, caller.Groups
		}
		return looks, nil
	}
}

// logPage logs where the page is.
func (s *Server) logPage(address net.Addr) {
	s.log.Info("page: " + s.scheme() + address.String() + "/page/")
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
	return nil, errors.New("the text is empty")
}
