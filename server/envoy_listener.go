package server

import (
	"context"
	"net"

	"github.com/writ-policy/writ/server/envoy"
)

// envoyListener is the gRPC server for Envoy and its listener.
type envoyListener struct {
	server   *envoy.Server
	listener net.Listener
}

// listenEnvoy opens the listener for Envoy; nil if none is configured.
func (s *Server) listenEnvoy(ctx context.Context) (*envoyListener, error) {
	c := &s.config
	if c.Envoy.Listen == "" {
		return nil, nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.Envoy.Listen)
	if err != nil {
		return nil, err // net.OpError names the operation and the address
	}
	o := envoy.Options{
		Current: s.reloader.Current, Metrics: s.metrics, Logger: s.requests,
		Identity: c.Envoy.Identity, Timeout: c.Timeouts.Evaluation, MaxInFlight: c.Limits.MaxInFlight,
		MaxMessage: int(c.Limits.MaxBody), MaxConnections: c.Envoy.Connections, ReceiveBytes: c.Envoy.ReceiveBytes,
		MaxValues: c.Limits.MaxValues, Values: s.values,
		Rule: s.rule(c.Envoy.Listen), Observer: s.explorer,
	}
	if s.decisions != nil {
		o.Log = s.decisions
	}
	if s.tracer != nil {
		o.Tracer = s.tracer
	}
	if s.tls != nil {
		o.TLS = s.tls.config()
	}
	s.log.Info("listening for Envoy", "address", listener.Addr().String(), "tls", s.tls != nil)
	if c.Envoy.Listening != nil {
		c.Envoy.Listening(listener.Addr())
	}
	return &envoyListener{envoy.New(o), listener}, nil
}

// close closes a listener that never served. It may be called on nil.
func (d *envoyListener) close() error {
	if d == nil {
		return nil
	}
	return d.listener.Close()
}
