package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/writ-policy/writ/internal/limits"
	"github.com/writ-policy/writ/server/metrics"
)

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
		work.Go(func() { ended <- proxies.server.Serve(proxies.listener) })
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
	work.Go(func() { s.readAgain(observed) })
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
			s.frontProxy.watch(background, func(changed bool, err error) { trust.record(s, "settings of the front proxy", changed, err) })
		})
	}
	if s.issuer != nil {
		var keys fileReload
		work.Go(func() {
			s.issuer.Run(observed, func(changed bool, err error) { keys.record(s, "keys of the issuer", changed, err) })
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

// readAgain reads the documents, or polls the source of bundles, at each signal.
func (s *Server) readAgain(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case received := <-s.config.ReadAgain:
			s.log.Info("looking for new documents", "cause", received.String())
		}
		if s.sources.poke != nil {
			s.sources.poke()
		}
		if s.sources.documents != nil {
			_ = s.reloader.Reload(ctx) // logged, and in the status
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
			clusters.record(s, "clusters", changed, err)
		}
		if s.sources.keys != nil {
			s.sources.keys.refresh()
		}
		if s.sources.gitKeys != nil {
			changed, err := s.sources.gitKeys.Reload()
			commits.record(s, "keys of commits", changed, err)
			if changed {
				s.sources.poke() // a rejected commit may be valid now
			}
		}
		if s.tokens != nil {
			changed, err := s.tokens.Reload()
			tokens.record(s, "tokens", changed, err)
		}
		if s.tls != nil {
			changed, err := s.tls.reload()
			tls.record(s, "certificates", changed, err)
		}
	}
}

// fileReload logs and counts the reloads of a file.
type fileReload struct{ failures limits.Failures }

// record logs a change of the file, or its error unless that repeats.
func (r *fileReload) record(s *Server, what string, changed bool, err error) {
	if isFailing := err != nil; isFailing != r.failures.Any() {
		s.metrics.FileFails(isFailing)
	}
	if err != nil {
		if about, isLogged := r.failures.Failed(err.Error(), time.Now()); isLogged {
			s.log.Error("the previous "+what+" stay in use", append(about, "error", err)...)
		}
		return
	}
	if about, failed := r.failures.Ended(); failed || changed {
		s.log.Info(what+" reloaded", about...)
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
