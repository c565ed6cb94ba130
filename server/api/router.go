package api

import (
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/server/point"
)

// Options configure the endpoints. Current and Metrics are required.
type Options struct {
	// Current returns the policies of the active revision. It is called once a request.
	Current func() decision.Policies
	Metrics *metrics.Metrics
	// Cache keeps decisions; nil keeps none.
	Cache Cache
	// Ready reports whether requests should be sent here; nil means always.
	Ready func() bool
	// Status is what GET /v1/status shows, as JSON; nil shows an empty object.
	Status func() any
	// Authenticator authenticates callers; nil authenticates none.
	Authenticator Authenticator
	// Poke makes the source of the documents look for new ones; nil means that there is
	// no such endpoint. PokeSecret returns the secret that its callers prove to know.
	Poke       func()
	PokeSecret func() []byte
	// Clusters complete reviews; nil means that reviews are evaluated as they come.
	Clusters Clusters
	// Recorder keeps decisions; nil keeps none.
	Recorder Recorder
	// SessionKey and EscalationKey are the keys of a review's extra that hold its
	// session and escalation; empty means the defaults.
	SessionKey    string
	EscalationKey string
	// Tracer follows requests that their senders trace; nil follows none.
	Tracer Tracer
	// Logger records requests; nil discards.
	Logger *slog.Logger
	// MaxBody is the largest body in bytes; zero means DefaultMaxBody.
	MaxBody int64
	// MaxInFlight is how many requests for decisions are answered at a time;
	// zero means DefaultMaxInFlight.
	MaxInFlight int
	// Timeout bounds a decision; zero means DefaultTimeout.
	Timeout time.Duration
}

// Bounds where Options leave them at zero.
const (
	DefaultMaxBody     = 1 << 20
	DefaultMaxInFlight = 512
	DefaultTimeout     = 10 * time.Second
)

// Keys of a review's extra where Options leave them empty.
const (
	DefaultSessionKey    = "writ.dev/session"
	DefaultEscalationKey = "writ.dev/escalation"
)

// service is the endpoints. It is safe for concurrent use.
type service struct {
	Options
	protect  point.Guard
	access   *metrics.Point
	gateway  *metrics.Point
	visible  *metrics.Point
	inFlight limiter // of requests that are being decided
	large    limiter // of those whose body is large, from the reading on
	listing  limiter // of those that list
	fetching limiter // of reviews that are being completed, which are not in flight
	streams  limiter // of requests whose items come one by one, which are not in flight
	revision atomic.Pointer[revisionHeader]
}

// New returns the handler of all endpoints.
func New(o Options) http.Handler {
	if o.Cache == nil {
		o.Cache = uncached{}
	}
	if o.Ready == nil {
		o.Ready = func() bool { return true }
	}
	if o.Status == nil {
		o.Status = func() any { return struct{}{} }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.SessionKey == "" {
		o.SessionKey = DefaultSessionKey
	}
	if o.EscalationKey == "" {
		o.EscalationKey = DefaultEscalationKey
	}
	if o.MaxBody <= 0 {
		o.MaxBody = DefaultMaxBody
	}
	if o.MaxInFlight <= 0 {
		o.MaxInFlight = DefaultMaxInFlight
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	s := &service{
		Options: o,
		protect: point.Guard{Metrics: o.Metrics, Logger: o.Logger},
		access:  o.Metrics.Point(string(decision.Access)),
		visible: o.Metrics.Point(string(decision.Visibility)),
		gateway: o.Metrics.Point(string(decision.Gateway)),
	}
	return s.router()
}

func (s *service) router() http.Handler {
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	engine.RedirectTrailingSlash = false
	engine.HandleMethodNotAllowed = true
	engine.ForwardedByClientIP = false
	for _, route := range s.routes() {
		guarded := s.traced(route.pattern, s.guard(route.pattern, route.endpoint))
		for method := range strings.FieldsSeq(route.methods) {
			engine.Handle(method, route.pattern, guarded)
		}
	}
	engine.NoRoute(s.guard(noRoute, endpoint{handle: s.notFound}))
	engine.NoMethod(s.guard(noRoute, endpoint{handle: s.notAllowed}))
	return engine
}

// noRoute is the route pattern of requests that fit none.
const noRoute = "none"

type route struct {
	methods  string
	pattern  string
	endpoint endpoint
}

func (s *service) routes() []route {
	const sar = "/apis/authorization.k8s.io/"
	v1 := endpoint{webhook: true, check: named, answer: s.subjectAccessReview(reviewV1)}
	v1beta1 := endpoint{webhook: true, check: named, answer: s.subjectAccessReview(reviewV1beta1)}
	routes := append(s.effectiveRoutes(), []route{
		{"POST", sar + "v1/subjectaccessreviews", v1},
		{"POST", sar + "v1beta1/subjectaccessreviews", v1beta1},
		{"POST", "/clusters/:cluster" + sar + "v1/subjectaccessreviews", v1},
		{"POST", "/clusters/:cluster" + sar + "v1beta1/subjectaccessreviews", v1beta1},
		{"POST", "/api/:version/ns/:namespace/:review", endpoint{check: checkOrigin, answer: s.originReview}},
		{"POST", "/v1/decisions/access", endpoint{check: checkMedia, answer: s.decisions}},
		{"POST", "/v1/decisions/gateway", endpoint{check: checkMedia, answer: s.gatewayDecisions}},
		{"POST", "/v1/decisions/visibility", endpoint{check: checkVisibilityMedia, answer: s.visibility, stream: s.stream}},
		{"GET HEAD", debugPath + "policies", endpoint{handle: s.callerEndpoint(nil, s.listPolicies)}},
		{"GET HEAD", debugPath + "permissions", endpoint{handle: s.callerEndpoint([]string{"cluster"}, s.listPermissions)}},
		{"GET HEAD", typesPath, endpoint{handle: s.callerEndpoint([]string{"include_source_details"}, s.listCustomTypes)}},
		{"POST", debugPath + "cache/clear", endpoint{handle: s.clearCache}},
		{"GET HEAD", "/v1/status", endpoint{handle: s.status}},
		{"GET HEAD", "/healthz", endpoint{quiet: true, handle: s.healthz}},
		{"GET HEAD", "/readyz", endpoint{quiet: true, handle: s.readyz}},
		{"GET HEAD", "/metrics", endpoint{handle: gin.WrapH(s.Metrics.Handler())}},
	}...)
	if s.Poke != nil && s.PokeSecret != nil {
		routes = append(routes, route{"POST", "/v1/poke", endpoint{handle: s.poke}})
	}
	return routes
}

// speaksStatus reports whether errors below path are Status objects, as clients
// of the Kubernetes and Origin APIs read them.
func speaksStatus(path string) bool {
	if rest, ok := strings.CutPrefix(path, "/clusters/"); ok {
		if _, below, found := strings.Cut(rest, "/"); found {
			path = "/" + below
		}
	}
	return strings.HasPrefix(path, "/apis/") || strings.HasPrefix(path, "/api/")
}

// errNotFound is the refusal of a path that names nothing.
var errNotFound = &refusal{status: http.StatusNotFound, message: "there is nothing at this path"}

// named refuses a path of which a part that names something is empty; the router
// takes that for a name. Without its cluster a request would be out of every
// cluster's scope.
func named(c *gin.Context) *refusal {
	for i := range c.Params {
		if c.Params[i].Value == "" {
			return errNotFound
		}
	}
	return nil
}

// hidesSlash reports whether a path as it was written has an encoded slash. The router
// decodes it, and a proxy before the server may not: an endpoint that the proxy denies
// would be reached.
func hidesSlash(raw string) bool {
	return strings.Contains(raw, "%2F") || strings.Contains(raw, "%2f")
}

func (s *service) notFound(c *gin.Context) { s.refuse(c, errNotFound) }

func (s *service) notAllowed(c *gin.Context) {
	s.refuse(c, &refusal{
		status:  http.StatusMethodNotAllowed,
		message: "the method is not one of this path's: " + c.Writer.Header().Get("Allow"),
	})
}
