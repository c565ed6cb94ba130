// Package envoy is the gRPC door for Envoy's external authorization, the protocol
// envoy.service.auth.v3. Checks come in, requests at the gateway point go to a
// Guard, and what it decides goes back in Envoy's words. It holds no policy.
//
// # Design
//
// A denial is an answer, never an error of the call: a proxy that is set to let
// requests through when its authorizer fails would let a denied one through. So
// trouble, overload and requests that are none are denials too.
//
// Which gateway, listener, route and rule a request is on is configured in the
// proxy, as context extensions of the filter, since only the proxy knows for
// certain. Who asks is what the proxy's own authentication filters left in the
// dynamic metadata.
package envoy

import (
	"context"
	"crypto/tls"
	"log/slog"
	"math"
	"net"
	"runtime/debug"
	"sync/atomic"
	"time"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/metrics"
)

// Options are what the door stands before. Guard and Metrics are needed.
type Options struct {
	Guard   decision.Guard
	Metrics *metrics.Metrics
	// Logger hears of panics; nil means nobody does.
	Logger *slog.Logger
	// Identity is the namespace of dynamic metadata that holds who was
	// authenticated; empty means DefaultIdentity.
	Identity string
	// Timeout bounds a decision, beside the caller's own deadline; zero means
	// DefaultTimeout.
	Timeout time.Duration
	// MaxInFlight is how many checks are answered at a time, and MaxMessage the
	// largest in bytes; zero means the defaults.
	MaxInFlight int
	MaxMessage  int
	// TLS is how to speak it; nil speaks plain text.
	TLS *tls.Config
}

// Values where Options leave them at zero. DefaultIdentity is the namespace of
// Envoy's own filter for JSON web tokens.
const (
	DefaultIdentity    = "envoy.filters.http.jwt_authn"
	DefaultTimeout     = 2 * time.Second
	DefaultMaxInFlight = 512
	DefaultMaxMessage  = 1 << 20
)

// idle is after how long a connection without a check is closed, and handshake how
// long one may take to begin. headroom is by how much a message may be too large and
// still be answered; maxMetadata bounds what comes beside messages.
const (
	idle        = 10 * time.Minute
	handshake   = 10 * time.Second
	headroom    = 16 << 20
	maxMetadata = 64 << 10
)

// checker answers checks. It is safe for concurrent use.
type checker struct {
	authv3.UnimplementedAuthorizationServer
	Options
	point    *metrics.Point
	inFlight atomic.Int64
}

// Server is the door. It serves one listener.
type Server struct{ grpc *grpc.Server }

// New returns the door, which serves nothing yet.
func New(o Options) *Server {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Identity == "" {
		o.Identity = DefaultIdentity
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.MaxInFlight <= 0 {
		o.MaxInFlight = DefaultMaxInFlight
	}
	if o.MaxMessage <= 0 {
		o.MaxMessage = DefaultMaxMessage
	}
	options := []grpc.ServerOption{
		// What is above this fails the call; what is above MaxMessage is denied.
		grpc.MaxRecvMsgSize(o.MaxMessage + headroom),
		grpc.ForceServerCodecV2(newCodec()),
		grpc.MaxHeaderListSize(maxMetadata),
		// More than this from one proxy would be denied in any case.
		grpc.MaxConcurrentStreams(uint32(min(2*o.MaxInFlight, math.MaxInt32))),
		grpc.ConnectionTimeout(handshake),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: idle}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
	}
	if o.TLS != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(o.TLS)))
	}
	server := grpc.NewServer(options...)
	server.RegisterService(&service, &checker{Options: o, point: o.Metrics.Point(string(decision.Gateway))})
	return &Server{server}
}

// Serve answers on the listener until Stop. A stop is no error.
func (s *Server) Serve(listener net.Listener) error { return s.grpc.Serve(listener) }

// Stop takes no more checks and waits for those in flight, at most for grace.
func (s *Server) Stop(grace time.Duration) {
	late := time.AfterFunc(grace, s.grpc.Stop)
	defer late.Stop()
	s.grpc.GracefulStop()
}

// Check answers one check. Its error is always nil.
func (c *checker) Check(ctx context.Context, check *authv3.CheckRequest) (*authv3.CheckResponse, error) {
	began := time.Now()
	c.Metrics.Began()
	defer c.Metrics.Ended()
	defer c.inFlight.Add(-1)
	if c.inFlight.Add(1) > int64(c.MaxInFlight) {
		c.Metrics.Shed()
		return overloaded(), nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	d, refused := c.guard(ctx, check)
	c.point.Decided(outcome(&d, refused), time.Since(began))
	if refused != nil {
		c.Logger.WarnContext(ctx, "a check is no request", "code", refused.Code, "error", refused.Message)
		return invalid(), nil
	}
	return response(&d), nil
}

// guard turns a panic into trouble: without an answer the proxy would do what it is
// set to do when its authorizer fails.
func (c *checker) guard(ctx context.Context, check *authv3.CheckRequest) (d decision.GatewayDecision, refused *decision.InvalidRequest) {
	defer func() {
		if cause := recover(); cause != nil {
			c.Metrics.Panicked()
			c.Logger.ErrorContext(ctx, "a check panicked", "panic", cause, "stack", string(debug.Stack()))
			d, refused = decision.GatewayTrouble("internal error"), nil
		}
	}()
	r := request(check, c.Identity)
	if r == nil {
		return d, &decision.InvalidRequest{Code: decision.CodeInvalidRequest, Message: "a header is not UTF-8"}
	}
	return c.Guard.Guard(ctx, r)
}

func outcome(d *decision.GatewayDecision, refused *decision.InvalidRequest) metrics.Outcome {
	switch {
	case refused != nil || d.Trouble != "":
		return metrics.Trouble
	case d.Denied:
		return metrics.Deny
	case d.Allowed:
		return metrics.Allow
	}
	return metrics.NoOpinion
}
