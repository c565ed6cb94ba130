package server

import (
	"strings"
	"testing"
	"time"
)

func TestConfigValidate(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*Config)
		want   string // in the error; empty: nil is wanted
	}{
		{"the defaults", func(*Config) {}, ""},
		{"any address", func(c *Config) { c.Listen = ":443" }, "--listen :443: other machines reach this address"},
		{"any address, without TLS", func(c *Config) { c.Listen, c.Callers.Anonymous = ":443", true }, "--insecure-listen"},
		{"any address, without credentials", func(c *Config) { c.Listen, c.Callers.InsecureListen = ":443", true }, "--anonymous"},
		{"any address, on purpose", func(c *Config) { c.Listen, c.Callers.InsecureListen, c.Callers.Anonymous = "0.0.0.0:443", true, true }, ""},
		{"any address, with TLS and tokens", func(c *Config) { c.Listen, c.TLS.Cert, c.TLS.Key, c.Callers.Tokens = "[::]:443", "a", "b", "c" }, ""},
		{"any address, with TLS and certificates", func(c *Config) { c.Listen, c.TLS.Cert, c.TLS.Key, c.TLS.ClientCA = "writ.example:443", "a", "b", "c" }, ""},
		{"any address for Envoy", func(c *Config) { c.Envoy.Listen = "10.0.0.1:9000" }, "--envoy-listen 10.0.0.1:9000: other machines"},
		{"any address for operators", func(c *Config) { c.Admin.Listen, c.Callers.Operators, c.Callers.Tokens = ":9000", []string{"ops"}, "a" }, "--admin-listen :9000: other machines"},
		{"loopback addresses", func(c *Config) { c.Listen, c.Envoy.Listen = "[::1]:443", "localhost:9000" }, ""},
		{"a name that begins like loopback", func(c *Config) { c.Listen = "127.0.0.1.example:443" }, "other machines"},
		{"operators without a listener", func(c *Config) { c.Callers.Operators, c.Callers.Tokens = []string{"ops"}, "a" }, "require each other"},
		{"operators without credentials", func(c *Config) {
			c.Admin.Listen, c.Callers.Operators, c.Callers.Anonymous = "127.0.0.1:1", []string{"ops"}, true
		}, "requires credentials of operators"},
		{"auditors without credentials", func(c *Config) { c.Callers.Auditors = []string{"sec"} }, "--auditors requires credentials"},
		{"required certificates without authorities", func(c *Config) { c.TLS.RequireClientCert = true }, "--require-client-cert requires --client-ca"},
		{"a public URL", func(c *Config) { c.PublicURL = "https://pdp.example.com:8443" }, ""},
		{"a public URL without TLS", func(c *Config) { c.PublicURL = "http://pdp.example.com" }, "must be https://HOST"},
		{"a public URL with a path", func(c *Config) { c.PublicURL = "https://pdp.example.com/" }, "must be https://HOST"},
		{"no cache", func(c *Config) { c.Cache.Entries = 0 }, ""},
		{"no policies", func(c *Config) { c.Policies = nil }, "policy directory"},
		{"no port", func(c *Config) { c.Listen = "localhost" }, "listen address"},
		{"keys of bundles, and documents", func(c *Config) { c.Bundle.Keys = "a" }, "they would verify nothing"},
		{"keys of bundles, and a bundle", func(c *Config) { c.Policies, c.Bundle.Location, c.Bundle.Keys = nil, "b", "a" }, ""},
		{"keys of commits, and a folder", func(c *Config) { c.Git.Keys = "a" }, "they would verify nothing"},
		{"keys of commits, and a repository", func(c *Config) { c.Policies, c.Git.Keys = []string{"git+https://h/a"}, "a" }, ""},
		{"a certificate alone", func(c *Config) { c.TLS.Cert = "a" }, "require each other"},
		{"a key alone", func(c *Config) { c.TLS.Key = "a" }, "require each other"},
		{"a client CA alone", func(c *Config) { c.TLS.ClientCA = "a" }, "client CA"},
		{"keys of bundles without bundles", func(c *Config) { c.Bundle.Keys = "a" }, "keys of bundles"},
		{"keys of bundles", func(c *Config) { c.Policies, c.Bundle.Location, c.Bundle.Keys = nil, "a", "a" }, ""},
		{"keys of commits without git", func(c *Config) { c.Git.Keys = "a" }, "keys of commits"},
		{"keys of commits for bundles", func(c *Config) { c.Policies, c.Bundle.Location, c.Git.Keys = nil, "a", "a" }, "keys of commits"},
		{"revoked keys of commits alone", func(c *Config) { c.Policies, c.Git.RevokedKeys = []string{"git+https://host/a"}, "a" }, "require allowed keys"},
		{"a minimum commit alone", func(c *Config) { c.Policies, c.Git.MinCommit = []string{"git+https://host/a"}, strings.Repeat("a", 40) }, "requires allowed keys"},
		{"a short minimum commit", func(c *Config) {
			c.Policies, c.Git.Keys, c.Git.MinCommit = []string{"git+https://host/a"}, "a", "abcdef"
		}, "full hash"},
		{"a minimum commit", func(c *Config) {
			c.Policies, c.Git.Keys, c.Git.MinCommit = []string{"git+https://host/a"}, "a", strings.Repeat("a", 40)
		}, ""},
		{"keys of commits", func(c *Config) { c.Policies, c.Git.Keys = []string{"git+https://host/a"}, "a" }, ""},
		{"keys of commits for two repositories", func(c *Config) { c.Policies, c.Git.Keys = []string{"git+https://host/a", "git+https://host/b"}, "a" }, "only one git repository"},
		{"no body", func(c *Config) { c.Limits.MaxBody = 0 }, "body"},
		{"nothing in flight", func(c *Config) { c.Limits.MaxInFlight = -1 }, "in flight"},
		{"fewer than no authorizations", func(c *Config) { c.Cache.VisibilityEntries = -1 }, "authorizations"},
		{"no time to keep them", func(c *Config) { c.Cache.VisibilityTTL = 0 }, "keep authorizations"},
		{"no time", func(c *Config) { c.Timeouts.Request = 0 }, "request timeout"},
		{"no time to write", func(c *Config) { c.Timeouts.Write = c.Timeouts.Request }, "write timeout"},
		{"less than no grace", func(c *Config) { c.Timeouts.Grace = -time.Second }, "grace"},
	} {
		c := Defaults()
		c.Policies = []string{"policies"}
		tt.change(&c)
		err := c.Validate()
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
}
