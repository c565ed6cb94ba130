package server

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/writ-policy/writ/server/api"
)

// adminWrite bounds a response to an operator: a rollback reads and compiles first.
const adminWrite = 3 * time.Minute

// adminListener is the listener of operators, who may change the active revision.
type adminListener struct {
	web      *http.Server
	listener net.Listener
}

// listenAdmin opens the listener of operators; nil if none is configured.
func (s *Server) listenAdmin(ctx context.Context) (*adminListener, error) {
	c := &s.config
	if c.AdminListen == "" {
		return nil, nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.AdminListen)
	if err != nil {
		return nil, err // net.OpError names the operation and the address
	}
	s.log.Info("listening for operators", "address", listener.Addr().String(), "tls", s.tls != nil)
	if c.AdminListening != nil {
		c.AdminListening(listener.Addr())
	}
	web := s.web()
	web.WriteTimeout = adminWrite
	web.Handler = api.NewAdmin(api.AdminOptions{
		RevisionStore: revisionStore{s.reloader, s.withObservers}, Metrics: s.metrics, Rule: s.rule(c.AdminListen), Logger: s.log,
	})
	return &adminListener{web, listener}, nil
}

func (s *Server) serveAdmin(d *adminListener) error { return s.serve(d.web, d.listener) }
