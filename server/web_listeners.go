package server

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/writ-policy/writ/server/api"
)

// adminWrite bounds a response to an operator: a rollback reads and compiles first.
const adminWrite = 3 * time.Minute

// webListener is an HTTP server beside the one for callers, and its listener.
type webListener struct {
	web      *http.Server
	listener net.Listener
}

// listenOthers opens the HTTP listeners that are configured beside the one for callers.
func (s *Server) listenOthers(ctx context.Context, callers net.Addr) ([]*webListener, error) {
	var open []*webListener
	for _, listen := range []func(context.Context) (*webListener, error){
		s.listenAdmin, s.listenMetrics, s.listenAggregated,
		func(ctx context.Context) (*webListener, error) { return s.listenPage(ctx, callers) },
	} {
		l, err := listen(ctx)
		if err != nil {
			for _, l := range open {
				err = errors.Join(err, l.listener.Close())
			}
			return nil, err
		}
		if l != nil {
			open = append(open, l)
		}
	}
	return open, nil
}

// listenAdmin opens the listener of operators, who may change the active revision; nil if
// none is configured.
func (s *Server) listenAdmin(ctx context.Context) (*webListener, error) {
	c := &s.config
	l, err := s.listenWeb(ctx, c.Admin.Listen, "listening for operators", c.Admin.Listening)
	if l == nil || err != nil {
		return nil, err
	}
	l.web.WriteTimeout = adminWrite
	l.web.Handler = api.NewAdmin(api.AdminOptions{
		RevisionStore: revisionStore{s.reloader, s.withObservers}, Metrics: s.metrics, Rule: s.rule(c.Admin.Listen), Logger: s.requests,
	})
	return l, nil
}

// listenMetrics opens the listener of metrics and probes; nil if none is configured.
func (s *Server) listenMetrics(ctx context.Context) (*webListener, error) {
	c := &s.config
	l, err := s.listenWeb(ctx, c.Metrics.Listen, "listening for metrics", c.Metrics.Listening)
	if l == nil || err != nil {
		return nil, err
	}
	l.web.Handler = api.NewMetrics(api.Options{
		Current: s.reloader.Current, Metrics: s.metrics, Ready: s.ready, Rule: s.rule(c.Metrics.Listen), Logger: s.requests,
	})
	return l, nil
}

// listenWeb opens a listener; nil if the address is empty.
func (s *Server) listenWeb(ctx context.Context, address, message string, listening func(net.Addr)) (*webListener, error) {
	if address == "" {
		return nil, nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err // net.OpError names the operation and the address
	}
	s.log.Info(message, "address", listener.Addr().String(), "tls", s.tls != nil)
	if listening != nil {
		listening(listener.Addr())
	}
	return &webListener{s.web(), listener}, nil
}
