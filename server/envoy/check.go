// Package envoy serves Envoy's external authorization over gRPC, the protocol
// envoy.service.auth.v3. Checks become requests at the gateway point, and decisions
// become responses. It holds no policy.
//
// # Design
//
// A denial is an answer, never an error of the call: a proxy that is set to let
// requests through when its authorizer fails would let a denied one through. So
// evaluation errors, overload and invalid requests are denials too. A call fails only if
// its message does not arrive: one that is larger than MaxMessage and a headroom for
// headers, or that is not received in time. A call without the credentials that the
// listener requires fails too: its sender gets no decision.
//
// Which gateway, listener, route and rule a request is on is configured in the
// proxy, as context extensions of the filter, since only the proxy knows for
// certain. Who asks is what the proxy's own authentication filters left in the
// dynamic metadata.
package envoy

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"math"
	"net"
	"time"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/keepalive"
	grpcpeer "google.golang.org/grpc/peer"

	"github.com/writ-policy/writ/internal/limits"
	"github.com/writ-policy/writ/server/auth"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/server/point"
	"github.com/writ-policy/writ/server/trace"
)

// Tracer follows checks that their senders trace: parents are the values of traceparent in
// their metadata. The function that Call returns is nil for all others, and otherwise
// called when the check is answered.
type Tracer interface {
	Call(ctx context.Context, parents []string, method string) (context.Context, func(revision string))
}

// Options configure the server. Current and Metrics are required.
type Options struct {
	// Current returns the policies of the active revision. It is called once a check.
	Current func() decision.Policies
	Metrics *metrics.Metrics
	// Logger records panics and invalid checks; nil discards.
	Logger *slog.Logger
	// Log records decisions; nil records none.
	Log decision.Log
	// Observer observes decisions; nil observes none.
	Observer decision.Observer
	// Tracer follows checks that their senders trace; nil follows none.
	Tracer Tracer
	// Identity is the namespace of dynamic metadata that holds who was
	// authenticated; empty means DefaultIdentity.
	Identity string
	// Timeout bounds a decision, beside the caller's own deadline; zero means
	// defaultTimeout.
	Timeout time.Duration
	// MaxInFlight is how many checks are answered at a time, and MaxMessage the
	// largest in bytes; zero means the defaults.
	MaxInFlight int
	MaxMessage  int
	// MaxValues is how many values a message may have, and Values the budget of values
	// that is shared with other listeners; zero and nil mean no limit.
	MaxValues int
	Values    *limits.Budget
	// ReceiveBytes bounds the memory of messages that are being received, and
	// ReceiveTimeout the time that one may take; zero means the defaults.
	ReceiveBytes   int
	ReceiveTimeout time.Duration
	// MaxConnections is how many connections may be open; zero means the default.
	MaxConnections int
	// TLS is how to speak it; nil speaks plain text.
	TLS *tls.Config
	// Rule is who may ask on the listener.
	Rule auth.Rule
}

// Values where Options leave them at zero. DefaultIdentity is the namespace of
// Envoy's own filter for JSON web tokens.
const (
	DefaultIdentity    = "envoy.filters.http.jwt_authn"
	defaultTimeout     = 2 * time.Second
	defaultMaxInFlight = 512
	defaultMaxMessage  = 1 << 20

	DefaultReceiveBytes   = 64 << 20
	defaultReceiveTimeout = 5 * time.Second
	DefaultMaxConnections = 2048
)

// idle is after how long a connection without a check is closed, and handshake how
// long one may take to begin. A connection is asked to end after age and closed after
// lastChecks more. headroom is by how much a message may be too large and still be
// answered: a proxy adds headers to a body that it has bounded. maxMetadata bounds what
// comes beside messages, and window what the transport stores of one that is not yet
// being received. A connection has at least minStreams calls at a time.
const (
	idle        = 10 * time.Minute
	age         = time.Hour
	lastChecks  = time.Minute
	handshake   = 10 * time.Second
	headroom    = 64 << 10
	maxMetadata = 64 << 10
	window      = 64 << 10
	minStreams  = 16
)

// checker answers checks. It is safe for concurrent use.
type checker struct {
	Options
	guard      point.Guard
	counter    *metrics.Point
	inFlight   *limits.Budget
	receptions receptions
}

// Server answers checks on one listener.
type Server struct {
	grpc    *grpc.Server
	checker *checker
}

// New returns a Server that does not serve yet.
func New(o Options) *Server {
	o.setDefaults()
	c := &checker{
		Options: o, guard: point.Guard{Metrics: o.Metrics, Logger: o.Logger, Log: o.Log, Observer: o.Observer},
		counter: o.Metrics.Point(decision.Gateway), inFlight: limits.NewBudget(int64(o.MaxInFlight)),
	}
	c.receptions = receptions{
		most: max(1, o.ReceiveBytes/(o.MaxMessage+headroom)), timeout: o.ReceiveTimeout, ended: c.receptionEnded,
	}
	server := grpc.NewServer(o.transport()...)
	server.RegisterService(&service, c)
	return &Server{server, c}
}

func (o *Options) setDefaults() {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.Identity = cmp.Or(o.Identity, DefaultIdentity)
	o.Timeout = cmp.Or(max(o.Timeout, 0), defaultTimeout)
	o.MaxInFlight = cmp.Or(max(o.MaxInFlight, 0), defaultMaxInFlight)
	o.MaxMessage = cmp.Or(max(o.MaxMessage, 0), defaultMaxMessage)
	o.MaxValues = cmp.Or(max(o.MaxValues, 0), math.MaxInt)
	o.Values = cmp.Or(o.Values, new(limits.Budget))
	o.ReceiveBytes = cmp.Or(max(o.ReceiveBytes, 0), DefaultReceiveBytes)
	o.ReceiveTimeout = cmp.Or(max(o.ReceiveTimeout, 0), defaultReceiveTimeout)
	o.MaxConnections = cmp.Or(max(o.MaxConnections, 0), DefaultMaxConnections)
}

// transport returns the options of the transport, which bound what it stores.
func (o *Options) transport() []grpc.ServerOption {
	options := []grpc.ServerOption{
		// What is above this fails the call; what is above MaxMessage is denied.
		grpc.MaxRecvMsgSize(o.MaxMessage + headroom),
		grpc.ForceServerCodecV2(codec{encoding.GetCodecV2("proto")}),
		grpc.MaxHeaderListSize(maxMetadata),
		grpc.InTapHandle(prepare),
		grpc.StaticStreamWindowSize(window),
		// A proxy opens another connection for more, up to MaxInFlight in all.
		grpc.MaxConcurrentStreams(uint32(min(max(o.MaxInFlight/4, minStreams), math.MaxInt32))),
		grpc.ConnectionTimeout(handshake),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			MaxConnectionIdle: idle, MaxConnectionAge: age, MaxConnectionAgeGrace: lastChecks,
		}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
	}
	if o.TLS != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(o.TLS)))
	}
	return options
}

// Serve answers on the listener until Stop. Its error is nil after Stop.
func (s *Server) Serve(listener net.Listener) error {
	c := s.checker
	return s.grpc.Serve(limits.Listener(listener, c.MaxConnections, func() { c.Metrics.Refused(metrics.ManyConnections) }))
}

// Stop takes no more checks and waits for those in flight, at most for grace.
func (s *Server) Stop(grace time.Duration) {
	late := time.AfterFunc(grace, s.grpc.Stop)
	defer late.Stop()
	s.grpc.GracefulStop()
}

// receptionEnded counts a reception that failed.
func (c *checker) receptionEnded(cause error) {
	if errors.Is(cause, errSlow) {
		c.Metrics.Refused(metrics.SlowMessage)
		return
	}
	c.Metrics.Refused(metrics.ReplacedMessage)
}

// check answers one check.
func (c *checker) check(ctx context.Context, policies decision.Policies, check *authv3.CheckRequest) *authv3.CheckResponse {
	if c.Logger.Enabled(ctx, slog.LevelDebug) {
		ctx, _ = decision.WithTrail(ctx)
		defer c.log(ctx, policies.Loaded().Revision, time.Now())
	}
	q := question{check: check, identity: c.Identity}
	s := c.guard.Begin(ctx, point.Asked{
		Policies: policies, Point: decision.Gateway, Counter: c.counter, Endpoint: "envoy", From: addressOf(ctx), Within: c.Timeout,
	})
	defer s.End()
	d, invalid := s.Decide(&q, func() []byte { return decision.AppendValue(nil, q.Attributes) })
	if invalid != nil {
		return c.refuse(ctx, invalid)
	}
	return response(d.(*decision.GatewayDecision))
}

// question is the question of a check.
type question struct {
	decision.GatewayRequest
	check    *authv3.CheckRequest
	identity string
}

// Decide implements decision.Question. It reads the check, so that a panic there denies.
func (q *question) Decide(ctx context.Context, p decision.Policies) (decision.Answer, *decision.InvalidRequest) {
	r, invalid := request(q.check, q.identity)
	if invalid != nil {
		return nil, invalid
	}
	q.GatewayRequest = *r
	return q.GatewayRequest.Decide(ctx, p)
}

// addressOf returns the address of the proxy.
func addressOf(ctx context.Context) string {
	if from, ok := grpcpeer.FromContext(ctx); ok {
		return from.Addr.String()
	}
	return ""
}

// log writes a line for a check, like that of an HTTP request.
func (c *checker) log(ctx context.Context, revision string, began time.Time) {
	attributes := []slog.Attr{
		slog.String("route", method), slog.String("from", addressOf(ctx)), slog.Duration("took", time.Since(began)), slog.String("revision", revision),
	}
	if id := trace.ID(parentsOf(ctx)); id != "" {
		attributes = append(attributes, slog.String("trace", id))
	}
	c.Logger.LogAttrs(ctx, slog.LevelDebug, "request", append(attributes, decision.TrailOf(ctx).Attributes()...)...)
}

// refuse denies an invalid check.
func (c *checker) refuse(ctx context.Context, err error) *authv3.CheckResponse {
	c.counter.Decided(decision.EvaluationError, 0)
	c.Logger.WarnContext(ctx, "invalid authorization check", "error", err)
	return invalid()
}
