// Package envoy serves Envoy's external authorization over gRPC, the protocol
// envoy.service.auth.v3. Checks become requests at the gateway point, and decisions
// become responses. It holds no policy.
//
// Not part of the promised API; see package writ.
//
// # Design
//
// A denial is an answer, never an error of the call: a proxy that is set to let
// requests through when its authorizer fails would let a denied one through. So
// evaluation errors, overload and invalid requests are denials too.
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
	"sync/atomic"
	"time"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/server/point"
)

// Options configure the server. Current and Metrics are required.
type Options struct {
	// Current returns the policies of the active revision. It is called once a check.
	Current func() decision.Policies
	Metrics *metrics.Metrics
	// Logger records panics and invalid checks; nil discards.
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
	protect  point.Guard
	counter  *metrics.Point
	inFlight atomic.Int64
}

// Server answers checks on one listener.
type Server struct{ grpc *grpc.Server }

// New returns a Server that does not serve yet.
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
	server.RegisterService(&service, &checker{
		Options: o, protect: point.Guard{Metrics: o.Metrics, Logger: o.Logger}, counter: o.Metrics.Point(string(decision.Gateway)),
	})
	return &Server{server}
}

// Serve answers on the listener until Stop. Its error is nil after Stop.
func (s *Server) Serve(listener net.Listener) error { return s.grpc.Serve(listener) }

// Stop takes no more checks and waits for those in flight, at most for grace.
func (s *Server) Stop(grace time.Duration) {
	late := time.AfterFunc(grace, s.grpc.Stop)
	defer late.Stop()
	s.grpc.GracefulStop()
}

// Check answers one check. Its error is always nil: without an answer the proxy would
// do what it is configured to do when its authorizer fails.
func (c *checker) Check(ctx context.Context, check *authv3.CheckRequest) (*authv3.CheckResponse, error) {
	c.Metrics.Began()
	defer c.Metrics.Ended()
	defer c.inFlight.Add(-1)
	if c.inFlight.Add(1) > int64(c.MaxInFlight) {
		c.Metrics.Shed()
		return overloaded(), nil
	}
	policies := c.Current()
	d, refused := point.Decide(ctx, &c.protect, c.counter, c.Timeout, func(ctx context.Context) (decision.GatewayDecision, *decision.InvalidRequest) {
		r := request(check, c.Identity)
		if r == nil {
			return decision.GatewayDecision{}, errHeaderEncoding
		}
		return policies.Gateway(ctx, r)
	})
	if refused != nil {
		return c.refuse(ctx, refused), nil
	}
	return response(&d), nil
}

var errHeaderEncoding = &decision.InvalidRequest{Code: decision.CodeInvalidRequest, Message: "a header is not UTF-8"}

// refuse denies an invalid check.
func (c *checker) refuse(ctx context.Context, err error) *authv3.CheckResponse {
	c.counter.Decided(decision.EvaluationError, 0)
	c.Logger.WarnContext(ctx, "invalid authorization check", "error", err)
	return invalid()
}
