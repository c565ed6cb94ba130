package server

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"os"
	"sync/atomic"

	"github.com/writ-policy/writ/internal/limits"
	"github.com/writ-policy/writ/internal/progress"
	"github.com/writ-policy/writ/server/api"
	"github.com/writ-policy/writ/server/audit"
	"github.com/writ-policy/writ/server/auth"
	"github.com/writ-policy/writ/server/cache"
	"github.com/writ-policy/writ/server/cluster"
	"github.com/writ-policy/writ/server/console/answers"
	"github.com/writ-policy/writ/server/decisionlog"
	"github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/server/proofs"
	"github.com/writ-policy/writ/server/reload"
	"github.com/writ-policy/writ/server/trace"
)

// smallRequest is how many values a request may have to find a quarter of the budget of
// values reserved. A review has about thirty, and a pod some hundreds.
const smallRequest = 1000

// Server answers requests by documents or bundles. Run must be called at most once.
type Server struct {
	config   Config
	log      *slog.Logger
	requests *slog.Logger // for lines that callers cause, which are bounded
	reloader *reload.Reloader
	handler  http.Handler
	metrics  *metrics.Metrics
	values   *limits.Budget // of all requests at all listeners
	sources  sources
	tokens   *auth.Tokens       // nil without a token file
	issuer   *auth.Issuer       // nil without an OpenID Connect issuer
	reviews  *auth.Reviews      // nil without token reviews
	clients  *auth.Certificates // nil without client authorities
	tls      *certificates      // nil for plain HTTP
	clusters *cluster.Clusters  // nil without a clusters file
	spaces   *cluster.Spaces
	// frontProxy is what the listener of the aggregated API trusts; nil without one.
	frontProxy *frontProxy
	explorer   *answers.Explorer
	proofs     *proofs.Proofs
	periods    periods // of the active revision

	companions companions // of clusters
	audit      *audit.Log
	decisions  *decisionlog.Log    // nil without a decision log
	tracer     *trace.Tracer       // nil if the environment does not enable tracing
	observers  []progress.Observer // of reloads and deliveries
	draining   atomic.Bool
}

// observe hands the tracer and the log of decisions to the API where they are configured. A
// nil pointer in an interface would not be nil.
func (s *Server) observe(o *api.Options) {
	if s.tracer != nil {
		o.Tracer = s.tracer
	}
	if s.decisions != nil {
		o.Log = s.decisions
	}
}

// New returns a server. It returns an error if the configuration is invalid, or if a
// token, TLS, clusters, keys or audit file cannot be opened. Documents are not read: a
// server whose documents have errors runs, is not ready, and waits for better ones.
func New(c Config) (*Server, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	s := &Server{config: c, log: c.Logger, metrics: metrics.New(), values: limits.NewReserved(c.Limits.MaxValuesInUse, smallRequest)}
	s.log = cmp.Or(s.log, slog.New(slog.DiscardHandler))
	s.requests = limits.Lines(s.log)
	if err := s.openFiles(); err != nil {
		return nil, err
	}
	s.warn()
	s.setupObservers()
	if err := s.openLogs(); err != nil {
		return nil, err
	}
	if err := s.openSources(); err != nil {
		return nil, err
	}
	kept := cache.New(cache.Options{
		Entries: c.Cache.Entries, Bytes: c.Cache.Bytes, Now: c.Now,
		Visibility: cache.VisibilityOptions{Entries: c.Cache.VisibilityEntries, TTL: c.Cache.VisibilityTTL, Logger: s.log},
	}, s.metrics)
	var err error
	if s.proofs, err = s.newProofs(s.metrics); err != nil {
		return nil, err
	}
	s.explorer = s.newExplorer()
	s.reloader = s.newReloader(s.metrics, kept)
	s.metrics.ReadDated(s.dated)
	s.metrics.ReadCompanions(s.inForce)
	s.spaces = cluster.SpacesOf(s.clusters, s.sources.kube)
	o := s.callerOptions(kept)
	if err := s.openFrontProxy(); err != nil {
		return nil, err
	}
	s.handler = api.New(o)
	if c.hasPage() {
		s.handler = s.withPage(c.Listen, s.handler, func(host string) string { return s.scheme() + host })
	}
	return s, nil
}

// callerOptions are those of the listener for callers.
func (s *Server) callerOptions(kept *cache.Cache) api.Options {
	c := &s.config
	o := s.apiOptions(c.Listen)
	o.Cache, o.Status, o.StatusForm, o.MaxAnswer = kept, s.status, serverStatus{}, c.Limits.MaxAnswer
	o.MaxInFlight, o.Timeout, o.MetricsApart = c.Limits.MaxInFlight, c.Timeouts.Request, c.Metrics.Listen != ""
	o.Recorder, o.SessionKey, o.EscalationKey = s.audit, c.Clusters.SessionKey, c.Clusters.EscalationKey
	o.PublicURL, o.Observer, o.ConsoleApart = c.PublicURL, s.explorer, c.Page.Listen != ""
	o.Proofs, o.Locator = s.proofs, s.locator()
	if !c.hasPage() {
		o.Console = nil
	}
	if s.sources.poke != nil && c.PokeSecret != "" {
		o.Poke, o.PokeSecret = s.sources.poke, s.secret
	}
	if s.clusters != nil {
		s.companions.clusters, s.companions.now = s.clusters, s.now
		o.Clusters, o.Companions = s.clusters, &s.companions
	}
	s.observe(&o)
	return o
}

// openLogs opens the log of audit events and that of decisions.
func (s *Server) openLogs() (err error) {
	c := &s.config.Audit
	if s.audit, err = audit.Open(audit.Options{Logger: s.log, File: c.File, Webhook: c.Webhook}, s.metrics); err != nil {
		return err
	}
	if c.DecisionLog != "" || c.DecisionLogConfig != "" {
		s.decisions, err = decisionlog.Open(decisionlog.Options{
			File: c.DecisionLog, Config: c.DecisionLogConfig, Logger: s.log, Metrics: s.metrics, Observers: s.observers,
		})
	}
	return err
}

// apiOptions are those that the listener for callers and the one for browsers share.
func (s *Server) apiOptions(address string) api.Options {
	c := &s.config
	return api.Options{
		Current: s.reloader.Current, Metrics: s.metrics, Ready: s.ready, Rule: s.rule(address), Console: s.explorer, Logger: s.requests,
		MaxBody: c.Limits.MaxBody, MaxValues: c.Limits.MaxValues, Values: s.values,
	}
}

// setupObservers creates the observers of reloads, deliveries and requests to other servers:
// metrics, and traces if the environment enables them. Tracing is optional: OTEL_* variables
// are often set for other processes, so an error here is only logged.
func (s *Server) setupObservers() {
	var err error
	if s.tracer, err = trace.Open(context.Background(), trace.Options{Version: s.config.Version, Logger: s.log}); err != nil {
		s.log.Error("tracing is disabled", "error", err)
	}
	s.observers = []progress.Observer{s.metrics}
	if s.tracer != nil {
		s.observers = append(s.observers, s.tracer)
	}
}

// warn logs settings that are allowed but unsafe.
func (s *Server) warn() {
	const others = 0o002
	if at, err := os.Stat(s.config.StateDir); err == nil && at.Mode().Perm()&others != 0 {
		s.log.Warn("every user of this machine can write into the state directory, and thereby choose the revision after a restart",
			"directory", s.config.StateDir, "mode", at.Mode().Perm().String())
	}
}

func (s *Server) openFiles() (err error) {
	if s.config.Callers.Tokens != "" {
		if s.tokens, err = auth.ReadTokens(s.config.Callers.Tokens); err != nil {
			return err
		}
	}
	if s.config.Callers.OIDC.URL != "" {
		if s.issuer, err = auth.NewIssuer(s.config.Callers.OIDC); err != nil {
			return err
		}
	}
	if s.config.Callers.TokenReview != "" {
		review, err := cluster.TokenReviews(s.config.Callers.TokenReview, s.config.Callers.TokenReviewAudiences)
		if err != nil {
			return err
		}
		s.reviews = auth.NewReviews(review, s.config.Now)
	}
	if s.config.TLS.Cert != "" {
		if s.tls, err = readCertificates(s.config.TLS.Cert, s.config.TLS.Key, s.config.TLS.ClientCA, s.config.TLS.RequireClientCert); err != nil {
			return err
		}
		s.clients = auth.NewCertificates(s.tls.authorities)
	}
	if s.config.Clusters.File != "" {
		s.clusters, err = cluster.Read(s.config.Clusters.File, s.fetching())
	}
	return err
}

// fetching returns the limits of fetches. Half of the places for decisions are left for
// other requests, because our own fetches may come back as reviews.
func (s *Server) fetching() cluster.Options {
	c := &s.config
	return cluster.Options{Timeout: c.Clusters.FetchTimeout, Places: max(1, min(c.Clusters.MaxFetches, c.Limits.MaxInFlight/2))}
}

// Handler is the server's endpoints without a listener. Load brings documents behind
// it.
func (s *Server) Handler() http.Handler { return s.handler }
