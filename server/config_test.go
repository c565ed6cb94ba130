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
		want   string // in the error; empty: there is none
	}{
		{"the defaults", func(*Config) {}, ""},
		{"any address", func(c *Config) { c.Listen = ":443" }, "--listen :443: other machines reach this address"},
		{"any address, without TLS", func(c *Config) { c.Listen, c.Anonymous = ":443", true }, "--insecure-listen"},
		{"any address, without credentials", func(c *Config) { c.Listen, c.InsecureListen = ":443", true }, "--anonymous"},
		{"any address, on purpose", func(c *Config) { c.Listen, c.InsecureListen, c.Anonymous = "0.0.0.0:443", true, true }, ""},
		{"any address, with TLS and tokens", func(c *Config) { c.Listen, c.TLSCert, c.TLSKey, c.Tokens = "[::]:443", "a", "b", "c" }, ""},
		{"any address, with TLS and certificates", func(c *Config) { c.Listen, c.TLSCert, c.TLSKey, c.ClientCA = "writ.example:443", "a", "b", "c" }, ""},
		{"any address for Envoy", func(c *Config) { c.EnvoyListen = "10.0.0.1:9000" }, "--envoy-listen 10.0.0.1:9000: other machines"},
		{"any address for operators", func(c *Config) { c.AdminListen, c.Operators, c.Tokens = ":9000", []string{"ops"}, "a" }, "--admin-listen :9000: other machines"},
		{"loopback addresses", func(c *Config) { c.Listen, c.EnvoyListen = "[::1]:443", "localhost:9000" }, ""},
		{"a name that begins like loopback", func(c *Config) { c.Listen = "127.0.0.1.example:443" }, "other machines"},
		{"operators without a listener", func(c *Config) { c.Operators, c.Tokens = []string{"ops"}, "a" }, "require each other"},
		{"operators without credentials", func(c *Config) { c.AdminListen, c.Operators, c.Anonymous = "127.0.0.1:1", []string{"ops"}, true }, "requires credentials of operators"},
		{"auditors without credentials", func(c *Config) { c.Auditors = []string{"sec"} }, "--auditors requires credentials"},
		{"required certificates without authorities", func(c *Config) { c.RequireClientCert = true }, "--require-client-cert requires --client-ca"},
		{"a public URL", func(c *Config) { c.PublicURL = "https://pdp.example.com:8443" }, ""},
		{"a public URL without TLS", func(c *Config) { c.PublicURL = "http://pdp.example.com" }, "must be https://HOST"},
		{"a public URL with a path", func(c *Config) { c.PublicURL = "https://pdp.example.com/" }, "must be https://HOST"},
		{"no cache", func(c *Config) { c.CacheEntries = 0 }, ""},
		{"no policies", func(c *Config) { c.Policies = nil }, "policy directory"},
		{"no port", func(c *Config) { c.Listen = "localhost" }, "listen address"},
		{"keys of bundles, and documents", func(c *Config) { c.BundleKeys = "a" }, "they would verify nothing"},
		{"keys of bundles, and a bundle", func(c *Config) { c.Policies, c.Bundle, c.BundleKeys = nil, "b", "a" }, ""},
		{"keys of commits, and a folder", func(c *Config) { c.GitKeys = "a" }, "they would verify nothing"},
		{"keys of commits, and a repository", func(c *Config) { c.Policies, c.GitKeys = []string{"git+https://h/a"}, "a" }, ""},
		{"a certificate alone", func(c *Config) { c.TLSCert = "a" }, "require each other"},
		{"a key alone", func(c *Config) { c.TLSKey = "a" }, "require each other"},
		{"a client CA alone", func(c *Config) { c.ClientCA = "a" }, "client CA"},
		{"keys of bundles without bundles", func(c *Config) { c.BundleKeys = "a" }, "keys of bundles"},
		{"keys of bundles", func(c *Config) { c.Policies, c.Bundle, c.BundleKeys = nil, "a", "a" }, ""},
		{"keys of commits without git", func(c *Config) { c.GitKeys = "a" }, "keys of commits"},
		{"keys of commits for bundles", func(c *Config) { c.Policies, c.Bundle, c.GitKeys = nil, "a", "a" }, "keys of commits"},
		{"revoked keys of commits alone", func(c *Config) { c.Policies, c.GitRevokedKeys = []string{"git+https://host/a"}, "a" }, "require allowed keys"},
		{"a minimum commit alone", func(c *Config) { c.Policies, c.GitMinCommit = []string{"git+https://host/a"}, strings.Repeat("a", 40) }, "requires allowed keys"},
		{"a short minimum commit", func(c *Config) { c.Policies, c.GitKeys, c.GitMinCommit = []string{"git+https://host/a"}, "a", "abcdef" }, "full hash"},
		{"a minimum commit", func(c *Config) {
			c.Policies, c.GitKeys, c.GitMinCommit = []string{"git+https://host/a"}, "a", strings.Repeat("a", 40)
		}, ""},
		{"keys of commits", func(c *Config) { c.Policies, c.GitKeys = []string{"git+https://host/a"}, "a" }, ""},
		{"keys of commits for two repositories", func(c *Config) { c.Policies, c.GitKeys = []string{"git+https://host/a", "git+https://host/b"}, "a" }, "only one git repository"},
		{"no body", func(c *Config) { c.MaxBody = 0 }, "body"},
		{"nothing in flight", func(c *Config) { c.MaxInFlight = -1 }, "in flight"},
		{"fewer than no authorizations", func(c *Config) { c.VisibilityCacheEntries = -1 }, "authorizations"},
		{"no time to keep them", func(c *Config) { c.VisibilityCacheTTL = 0 }, "keep authorizations"},
		{"no time", func(c *Config) { c.RequestTimeout = 0 }, "request timeout"},
		{"no time to write", func(c *Config) { c.WriteTimeout = c.RequestTimeout }, "write timeout"},
		{"less than no grace", func(c *Config) { c.Grace = -time.Second }, "grace"},
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
