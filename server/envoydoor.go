package server

import (
	"context"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/writ-policy/writ/server/envoy"
)

// envoyDoor is the gRPC server with its listener.
type envoyDoor struct {
	server   *grpc.Server
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
	var more []grpc.ServerOption
	if s.tls != nil {
		more = append(more, grpc.Creds(credentials.NewTLS(s.tls.config())))
	}
	s.log.Info("listening for Envoy", "address", listener.Addr().String(), "tls", s.tls != nil)
	if c.EnvoyListening != nil {
		c.EnvoyListening(listener.Addr())
	}
	return &envoyDoor{envoy.New(envoy.Options{
		Guard: s.reloader, Metrics: s.metrics, Logger: s.log,
		Identity: c.EnvoyIdentity, Timeout: c.EvaluationTimeout, MaxInFlight: c.MaxInFlight,
		MaxMessage: int(c.MaxBody),
	}, more...), listener}, nil
}

func (d *envoyDoor) serve() error { return d.server.Serve(d.listener) }

// stop ends what is in flight after the grace period.
func (d *envoyDoor) stop(grace time.Duration) {
	late := time.AfterFunc(grace, d.server.Stop)
	defer late.Stop()
	d.server.GracefulStop()
}

// close closes a door that was opened and never served; nil is none.
func (d *envoyDoor) close() error {
	if d == nil {
		return nil
	}
	return d.listener.Close()
}
