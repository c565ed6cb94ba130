package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/writ-policy/writ/bundles/remote"
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
	"github.com/writ-policy/writ/translator/source"
)

// smallRequest is how many values a request may have to find a quarter of the budget of
// values reserved. A review has about thirty, and a pod some hundreds.
const smallRequest = 1000

// Server answers requests by documents or bundles. Run must be called at most once.
type Server struct {
	config   Config
	log      *slog.Logger
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
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if err := s.openFiles(); err != nil {
		return nil, err
	}
	s.warn()
	s.setupObservers()
	m := s.metrics
	if err := s.openLogs(); err != nil {
		return nil, err
	}
	if err := s.openSources(); err != nil {
		return nil, err
	}
	kept := cache.New(cache.Options{
		Entries: c.Cache.Entries, Bytes: c.Cache.Bytes, Now: c.Now,
		Visibility: cache.VisibilityOptions{Entries: c.Cache.VisibilityEntries, TTL: c.Cache.VisibilityTTL, Logger: s.log},
	}, m)
	var err error
	if s.proofs, err = s.newProofs(m); err != nil {
		return nil, err
	}
	s.explorer = s.newExplorer()
	s.reloader = s.newReloader(m, kept)
	m.ReadDated(s.dated)
	o := s.apiOptions(c.Listen)
	o.Cache, o.Status, o.StatusForm, o.MaxAnswer = kept, s.status, serverStatus{}, c.Limits.MaxAnswer
	o.MaxInFlight, o.Timeout, o.MetricsApart = c.Limits.MaxInFlight, c.Timeouts.Request, c.Metrics.Listen != ""
	o.Recorder, o.SessionKey, o.EscalationKey = s.audit, c.Clusters.SessionKey, c.Clusters.EscalationKey
	o.PublicURL, o.Observer, o.ConsoleApart = c.PublicURL, s.explorer, c.Page.Listen != ""
	if !c.hasPage() {
		o.Console = nil
	}
	if s.sources.poke != nil && c.PokeSecret != "" {
		o.Poke, o.PokeSecret = s.sources.poke, s.secret
	}
	if s.clusters != nil { // as below
		s.companions.clusters, s.companions.now = s.clusters, s.now
		o.Clusters, o.Companions = s.clusters, &s.companions
	}
	m.ReadCompanions(s.inForce)
	o.Proofs = s.proofs
	s.spaces = cluster.SpacesOf(s.clusters, s.sources.kube)
	o.Locator = s.locator()
	if err := s.openFrontProxy(); err != nil {
		return nil, err
	}
	s.observe(&o)
	s.handler = api.New(o)
	if c.hasPage() {
		s.handler = s.withPage(c.Listen, s.handler, func(host string) string { return s.scheme() + host })
	}
	return s, nil
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
		Current: s.reloader.Current, Metrics: s.metrics, Ready: s.ready, Rule: s.rule(address), Console: s.explorer, Logger: s.log,
		MaxBody: c.Limits.MaxBody, MaxValues: c.Limits.MaxValues, Values: s.values,
	}
}

// setupObservers creates the observers of reloads, deliveries and requests to other servers: metrics, and traces if the
// environment enables them. Tracing is optional: OTEL_* variables are often set for other
// processes, so an error here is only logged.
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

// serverStatus is what GET /v1/status shows: what is served, and how reading the
// documents went.
type serverStatus struct {
	Version  string `json:"version"`
	Draining bool   `json:"draining"`
	// Sequence is the sequence number of the active revision; zero without one.
	Sequence int64 `json:"sequence"`
	// Location is where what is served comes from, and Feed how its bundles come; nil
	// where it is documents.
	Location string         `json:"location"`
	Feed     *remote.Status `json:"feed,omitempty"`
	// Sources is the state of each source of documents.
	Sources []source.MemberStatus `json:"sources,omitempty"`
	// Keys is the state of the keys of bundles; nil if none are configured.
	Keys *keysStatus `json:"keys,omitempty"`
	// Dated is what the clock changes in the active revision.
	Dated datedStatus `json:"dated"`
	// Companions are those of the clusters that have one; nil before the first probe. Degraded
	// is set while one of them is not in force, too.
	Companions []companionStatus `json:"companions,omitempty"`
	// Assertions are those of the revision that was refused last, or of the active one; nil
	// without a revision.
	Assertions *proofs.Status `json:"assertions,omitempty"`
	// Behind is for how many seconds the active revision has not been confirmed to be
	// the newest of the source.
	Behind float64 `json:"behindSeconds"`
	reload.Status
}

// status is the status. Without details it names no documents and shows none of their
// text.
func (s *Server) status(details bool) any {
	status := serverStatus{
		Version: s.config.Version, Draining: s.draining.Load(), Location: s.sources.location, Status: s.reloader.Status(),
	}
	status.Ready = status.Ready && !status.Draining
	status.Sequence = s.reloader.Current().Sequence()
	status.Behind = s.reloader.Behind().Seconds()
	status.Companions = s.companions.status(s.reloader.Current().Revision())
	isStrict := func(c companionStatus) bool { return !c.InForce }
	status.Degraded = status.Degraded || slices.ContainsFunc(status.Companions, isStrict)
	status.Dated, status.Assertions = s.periods.at(s), s.proofs.Status()
	if s.sources.documents != nil {
		status.Sources = s.sources.documents.Status()
	}
	if s.sources.feed != nil {
		feed := s.sources.feed.Status()
		status.Feed = &feed
	}
	status.Keys = s.sources.keys.status()
	if details {
		return status
	}
	return withoutDetails(status)
}

// withoutDetails returns the status as JSON without members that name sources and
// documents, or show their text.
func withoutDetails(status serverStatus) any {
	text, err := json.Marshal(status)
	if err != nil {
		panic(err) // strings, numbers and times
	}
	members := make(map[string]json.RawMessage)
	if err := json.Unmarshal(text, &members); err != nil {
		panic(err) // it is an object
	}
	for _, name := range []string{"location", "sources", "feed", "diagnostics", "policyConditions", "lastError", "stateError", "assertions", "companions"} {
		delete(members, name)
	}
	return members
}

// Run listens, reads the documents, and answers until ctx is done. Then it becomes
// unready, answers for the drain time, and returns when requests in flight are answered
// or the grace period is over. It returns nil after a stop by ctx, and an error if an
// address is not available or a listener fails.
func (s *Server) Run(ctx context.Context) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.config.Listen)
	if err != nil {
		return err // net.OpError names the operation and the address
	}
	proxies, err := s.listenEnvoy(ctx)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	others, err := s.listenOthers(ctx, listener.Addr())
	if err != nil {
		return errors.Join(err, listener.Close(), proxies.close())
	}
	listener = limits.Listener(listener, s.config.Limits.MaxConnections, func() { s.metrics.Refused(metrics.ManyConnections) })
	s.log.Info("listening", "address", listener.Addr().String(), "tls", s.tls != nil)
	if s.config.hasPage() {
		s.logPage(listener.Addr())
	}
	if s.config.Listening != nil {
		s.config.Listening(listener.Addr())
	}
	// Requests in flight outlive ctx, and so do the goroutines that they depend on.
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	observed := s.withObservers(background)
	var work sync.WaitGroup
	defer s.audit.Close()
	defer s.closeTracer()
	defer work.Wait()
	followed := make(chan struct{})
	defer s.waitForReload(followed)
	defer stop()
	go func() { defer close(followed); s.follow(observed) }()
	s.runBackground(background, observed, &work)
	web := s.web()
	ended := make(chan error, 2+len(others))
	work.Go(func() { ended <- s.serve(web, listener) })
	if proxies != nil {
		defer proxies.server.Stop(0)
		work.Go(func() { ended <- proxies.serve() })
	}
	for _, l := range others {
		defer l.web.Close()
		work.Go(func() { ended <- s.serve(l.web, l.listener) })
	}
	select {
	case err := <-ended:
		return errors.Join(fmt.Errorf("serve: %w", err), web.Close())
	case <-ctx.Done():
	}
	return s.drain(web, proxies)
}

// runBackground starts what runs beside the listeners, until background is done. observed is
// background with the observers of steps.
func (s *Server) runBackground(background, observed context.Context, work *sync.WaitGroup) {
	work.Go(func() { s.refresh(background) })
	work.Go(func() { s.audit.Run(observed) })
	work.Go(func() { s.explorer.Run(background) })
	work.Go(func() { s.proofs.Run(observed) })
	if s.clusters != nil {
		work.Go(func() { s.watchCompanions(background) })
	}
	if s.decisions != nil {
		work.Go(func() { s.decisions.Run(background) })
	}
	if s.frontProxy != nil {
		var trust fileReload
		work.Go(func() {
			s.frontProxy.watch(background, func(changed bool, err error) { trust.log(s.log, "settings of the front proxy", changed, err) })
		})
	}
	if s.issuer != nil {
		var keys fileReload
		work.Go(func() {
			s.issuer.Run(observed, func(changed bool, err error) { keys.log(s.log, "keys of the issuer", changed, err) })
		})
	}
}

func (s *Server) web() *http.Server {
	c := &s.config
	web := &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: c.Timeouts.ReadHeader,
		ReadTimeout:       c.Timeouts.Read,
		WriteTimeout:      c.Timeouts.Write,
		IdleTimeout:       c.Timeouts.Idle,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	web.RegisterOnShutdown(s.explorer.Close) // event streams do not end by themselves
	return web
}

func (s *Server) serve(web *http.Server, listener net.Listener) error {
	if s.tls == nil {
		return web.Serve(listener)
	}
	if web.TLSConfig == nil {
		web.TLSConfig = s.tls.config()
	}
	return web.ServeTLS(listener, "", "")
}

func (s *Server) drain(web *http.Server, proxies *envoyListener) error {
	s.draining.Store(true)
	s.log.Info("stopping", "drain", s.config.Timeouts.Drain, "grace", s.config.Timeouts.Grace)
	time.Sleep(s.config.Timeouts.Drain)
	ctx, cancel := context.WithTimeout(context.Background(), s.config.Timeouts.Grace)
	defer cancel()
	var checks sync.WaitGroup
	defer checks.Wait()
	if proxies != nil {
		checks.Go(func() { proxies.server.Stop(s.config.Timeouts.Grace) })
	}
	err := web.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		s.log.Warn("requests were still in flight when the grace period ended")
		err = web.Close()
	}
	s.log.Info("stopped")
	return err
}

// lastTraces bounds the export of pending traces on shutdown.
const lastTraces = 5 * time.Second

func (s *Server) closeTracer() {
	if s.tracer == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastTraces)
	defer cancel()
	if err := s.tracer.Close(ctx); err != nil {
		s.log.Warn("the last traces were not sent", "error", err)
	}
}

// lastReload bounds the reload that runs on shutdown. OPA's compiler cannot be interrupted.
const lastReload = time.Second

// waitForReload waits until the reload that runs has ended, for at most lastReload.
func (s *Server) waitForReload(ended <-chan struct{}) {
	select {
	case <-ended:
	case <-time.After(lastReload):
		s.log.Warn("a reload still ran when the server ended")
	}
}

// watchAgain is the wait before a watch that ended is started again.
const watchAgain = 5 * time.Second

// follow loads the documents, and reloads them when they change.
func (s *Server) follow(ctx context.Context) {
	if s.sources.feed != nil {
		s.deliver(ctx)
		return
	}
	_ = s.reloader.Load(ctx) // logged, and in the status
	for ctx.Err() == nil {
		if err := s.reloader.Run(ctx); err != nil {
			s.log.Error("the watch of the documents failed", "error", err, "retry", watchAgain)
			pause(ctx, watchAgain)
			_ = s.reloader.Reload(ctx)
		}
	}
}

// refreshEvery is the interval of checking token, key, TLS and clusters files. They are
// small, and a token that was removed should not stay valid.
const refreshEvery = time.Second

// refresh reloads token, key, TLS and clusters files when they change. If a file cannot
// be read, its previous content stays in use.
func (s *Server) refresh(ctx context.Context) {
	var tokens, tls, clusters, commits fileReload
	for pause(ctx, refreshEvery) {
		s.audit.Reopen()
		if s.decisions != nil {
			s.decisions.Reopen()
		}
		if s.clusters != nil {
			changed, err := s.clusters.Reload()
			clusters.log(s.log, "clusters", changed, err)
		}
		if s.sources.keys != nil {
			s.sources.keys.refresh()
		}
		if s.sources.gitKeys != nil {
			changed, err := s.sources.gitKeys.Reload()
			commits.log(s.log, "keys of commits", changed, err)
			if changed {
				s.sources.poke() // a rejected commit may be valid now
			}
		}
		if s.tokens != nil {
			changed, err := s.tokens.Reload()
			tokens.log(s.log, "tokens", changed, err)
		}
		if s.tls != nil {
			changed, err := s.tls.reload()
			tls.log(s.log, "certificates", changed, err)
		}
	}
}

// fileReload remembers the last error of a file, so that it is logged once and not
// every second.
type fileReload struct{ lastError string }

// log logs a change of the file, or its error.
func (r *fileReload) log(log *slog.Logger, what string, changed bool, err error) {
	switch {
	case err != nil && err.Error() != r.lastError:
		r.lastError = err.Error()
		log.Error("the previous "+what+" stay in use", "error", err)
	case err == nil && (changed || r.lastError != ""):
		r.lastError = ""
		log.Info(what + " reloaded")
	}
}

// pause waits. It returns false if ctx is done first.
func pause(ctx context.Context, wait time.Duration) bool {
	select {
	case <-time.After(wait):
		return true
	case <-ctx.Done():
		return false
	}
}
