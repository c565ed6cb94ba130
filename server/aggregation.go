package server

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/writ-policy/writ/internal/limits"
	"github.com/writ-policy/writ/server/api"
	"github.com/writ-policy/writ/server/api/aggregated"
	"github.com/writ-policy/writ/server/auth"
	"github.com/writ-policy/writ/server/lists"
	"github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/translator/source"
)

// checkAggregation returns an error for each setting of the aggregated API that is missing or
// has no effect.
func (c *Config) checkAggregation() (errs []error) {
	a := &c.Aggregation
	if a.Listen == "" {
		if a.FromCluster || a.ClientCA != "" || len(a.AllowedNames) > 0 {
			errs = append(errs, errors.New("--requestheader-client-ca, --requestheader-allowed-names and --requestheader-from-cluster require --aggregation-listen"))
		}
		return errs
	}
	if _, _, err := net.SplitHostPort(a.Listen); err != nil {
		errs = append(errs, fmt.Errorf("listen address %q of the aggregated API: %w", a.Listen, err))
	}
	for _, each := range []struct {
		wrong   bool
		message string
	}{
		{c.TLS.Cert == "", "--aggregation-listen requires --tls-cert and --tls-key"},
		{a.FromCluster == (a.ClientCA != ""), "--aggregation-listen requires either --requestheader-client-ca or --requestheader-from-cluster"},
		{a.FromCluster && len(a.AllowedNames) > 0, "--requestheader-from-cluster and --requestheader-allowed-names are mutually exclusive"},
		{len(a.UsernameHeaders) == 0, "--requestheader-username-headers must not be empty"},
		{c.Clusters.File == "" && !c.readsCluster(), "--aggregation-listen requires --clusters with a default cluster, or --policies kube:CONTEXT: its lists have the namespaces of a cluster"},
	} {
		if each.wrong {
			errs = append(errs, errors.New(each.message))
		}
	}
	return errs
}

// readsCluster reports whether documents come from a cluster.
func (c *Config) readsCluster() bool {
	return slices.ContainsFunc(c.Policies, func(text string) bool {
		location, err := source.ParseLocation(text)
		return err == nil && location.Kube != nil
	})
}

// frontProxy is what is trusted about requests that an API server forwards.
type frontProxy struct {
	config *AggregationConfig
	// read reads it from the cluster.
	read  func(context.Context) (*auth.FrontProxyTrust, error)
	ca    []byte // that were read last
	trust atomic.Pointer[auth.FrontProxyTrust]
}

// openFrontProxy reads what is trusted, unless the cluster has it, which may not answer yet.
func (s *Server) openFrontProxy() error {
	if s.config.Aggregation.Listen == "" {
		return nil
	}
	s.frontProxy = &frontProxy{config: &s.config.Aggregation, read: s.spaces.FrontProxy}
	if s.config.Aggregation.FromCluster {
		return nil
	}
	_, err := s.frontProxy.reload(context.Background())
	return err
}

// reload reads it again and reports whether it changed. What was read before stays in use if
// it cannot be read.
func (f *frontProxy) reload(ctx context.Context) (changed bool, err error) {
	if f.config.FromCluster {
		return f.reloadFromCluster(ctx)
	}
	content, err := os.ReadFile(f.config.ClientCA)
	if err != nil {
		return false, fmt.Errorf("read the authorities of the front proxy: %w", err)
	}
	if bytes.Equal(content, f.ca) {
		return false, nil
	}
	next := &auth.FrontProxyTrust{
		Authorities: x509.NewCertPool(), Names: f.config.AllowedNames,
		UserHeaders: f.config.UsernameHeaders, GroupHeaders: f.config.GroupHeaders, ExtraPrefixes: f.config.ExtraHeaderPrefixes,
	}
	if !next.Authorities.AppendCertsFromPEM(content) {
		return false, fmt.Errorf("read the authorities of the front proxy: %s contains no certificate", f.config.ClientCA)
	}
	f.ca = content
	f.trust.Store(next)
	return true, nil
}

func (f *frontProxy) reloadFromCluster(ctx context.Context) (changed bool, err error) {
	next, err := f.read(ctx)
	if err != nil {
		return false, fmt.Errorf("read the ConfigMap kube-system/extension-apiserver-authentication: %w", err)
	}
	last := f.trust.Load()
	if last != nil && last.Authorities.Equal(next.Authorities) {
		next.Authorities = last.Authorities // verified certificates stay so
		if haveSameNames(last, next) {
			return false, nil
		}
	}
	f.trust.Store(next)
	return true, nil
}

// haveSameNames reports whether two front proxies differ at most in their authorities.
func haveSameNames(a, b *auth.FrontProxyTrust) bool {
	return slices.Equal(a.Names, b.Names) && slices.Equal(a.UserHeaders, b.UserHeaders) &&
		slices.Equal(a.GroupHeaders, b.GroupHeaders) && slices.Equal(a.ExtraPrefixes, b.ExtraPrefixes)
}

// trustAgain is how often the cluster is asked for its front proxy.
const trustAgain = 5 * time.Second

// watch reads it again until ctx is done.
func (f *frontProxy) watch(ctx context.Context, log func(changed bool, err error)) {
	every := refreshEvery
	if f.config.FromCluster {
		every = trustAgain
	}
	for {
		changed, err := f.reload(ctx)
		if ctx.Err() != nil {
			return
		}
		log(changed, err)
		wait := every
		if f.trust.Load() == nil {
			wait = refreshEvery
		}
		if !pause(ctx, wait) {
			return
		}
	}
}

// locator finds the namespaces of lists.
func (s *Server) locator() *lists.Locator {
	l := &lists.Locator{Spaces: s.spaces}
	if s.clusters != nil { // a nil pointer in an interface would not be nil
		l.Clusters = s.clusters
	}
	if most := s.config.Limits.MaxAge; most > 0 {
		l.IsTooOld = func() bool { return s.reloader.Behind() > most }
	}
	return l
}

// listenAggregated opens the listener that an API server aggregates; nil if none is
// configured.
func (s *Server) listenAggregated(ctx context.Context) (*webListener, error) {
	c := &s.config
	l, err := s.listenWeb(ctx, c.Aggregation.Listen, "listening for the API server", c.Aggregation.Listening)
	if l == nil || err != nil {
		return nil, err
	}
	l.listener = limits.Listener(l.listener, c.Limits.MaxConnections, func() { s.metrics.Refused(metrics.ManyConnections) })
	l.web.TLSConfig = s.tls.configOfProxies()
	l.web.Handler = api.NewAggregated(api.AggregatedOptions{
		Options: aggregated.Options{
			Locator: s.locator(), Changed: s.reloader.Changed, SessionKey: c.Clusters.SessionKey, EscalationKey: c.Clusters.EscalationKey,
			MaxAnswer: c.Limits.MaxAnswer, Version: c.Version,
		},
		Current: s.reloader.Current, Metrics: s.metrics, Ready: s.ready, Logger: s.requests, Timeout: c.Timeouts.Request,
		Rule: auth.Rule{Authenticator: auth.NewFrontProxy(s.frontProxy.trust.Load), IsProxied: true},
	})
	return l, nil
}
