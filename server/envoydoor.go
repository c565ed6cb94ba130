package server

import (
	"context"
	"net"

	"github.com/writ-policy/writ/server/envoy"
)

// envoyDoor is the door for Envoy with its listener.
type envoyDoor struct {
	server   *envoy.Server
	listener net.Listener
}

// listenEnvoy opens the door for Envoy; nil where none is configured.
func (s *Server) listenEnvoy(ctx context.Context) (*envoyDoor, error) {
	c := &s.config
	if c.EnvoyListen == "" {
		return nil, nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.EnvoyListen)
	if err != nil {
		return nil, err // it says "listen" and the address
	}
	o := envoy.Options{
		Guard: s.reloader, Metrics: s.metrics, Logger: s.log,
		Identity: c.EnvoyIdentity, Timeout: c.EvaluationTimeout, MaxInFlight: c.MaxInFlight,
		MaxMessage: int(c.MaxBody),
	}
	if s.tls != nil {
		o.TLS = s.tls.config()
	}
	s.log.Info("listening for Envoy", "address", listener.Addr().String(), "tls", s.tls != nil)
	if c.EnvoyListening != nil {
		c.EnvoyListening(listener.Addr())
	}
	return &envoyDoor{envoy.New(o), listener}, nil
}

func (d *envoyDoor) serve() error { return d.server.Serve(d.listener) }

// close closes a door that was opened and never served; nil is none.
func (d *envoyDoor) close() error {
	if d == nil {
		return nil
	}
	return d.listener.Close()
}
