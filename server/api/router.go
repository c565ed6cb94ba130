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
)

// Options are what the doors stand before. Reviewer and Metrics are needed.
type Options struct {
	Reviewer decision.Reviewer
	Metrics  *metrics.Metrics
	// Guard answers at the gateway point, and Effective about effective policies; nil
	// means that there are no such doors.
	Guard     decision.Guard
	Effective decision.Effectiver
	// Ready reports whether requests should be sent here; nil means always.
	Ready func() bool
	// Status is what GET /v1/status shows, as JSON; nil shows an empty object.
	Status func() any
	// Authenticator says who asks; nil means that nobody is authenticated.
	Authenticator Authenticator
	// Revisions tells which revision answers, for requests that demand one; nil means
	// that nothing is known of it, and demands for a sequence number are not met.
	Revisions Revisions
	// Poke makes the source of the documents look for new ones; nil means that there
	// is no such door. PokeSecret is what who pokes has to know.
	Poke       func()
	PokeSecret func() []byte
	// Clusters complete reviews; nil means that reviews are evaluated as they come.
	Clusters Clusters
	// Recorder keeps decisions; nil means nobody does.
	Recorder Recorder
	// SessionKey and EscalationKey are the keys of a review's extra that hold its
	// session and escalation; empty means the defaults.
	SessionKey    string
	EscalationKey string
	// Tracer follows requests that their senders trace; nil means that nobody does.
	Tracer Tracer
	// Logger hears of requests; nil means nobody does.
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

// service is the doors. It is safe for concurrent use.
type service struct {
	Options
	access   *metrics.Point
	gateway  *metrics.Point
	visible  *metrics.Point
	inFlight atomic.Int64 // of requests that are being decided
	large    atomic.Int64 // of those whose body is large, from the reading on
	listing  atomic.Int64 // of those that ask who can
	fetching atomic.Int64 // of reviews that are being completed, not counted in inFlight
	streams  atomic.Int64 // of requests whose items come one by one, not counted in inFlight
	revision atomic.Pointer[revisionHeader]
}

// New is the handler of all doors.
func New(o Options) http.Handler {
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
		guarded := s.traced(route.pattern, s.guard(route.pattern, route.door))
		for method := range strings.FieldsSeq(route.methods) {
			engine.Handle(method, route.pattern, guarded)
		}
	}
	engine.NoRoute(s.guard(noRoute, door{handle: s.notFound}))
	engine.NoMethod(s.guard(noRoute, door{handle: s.notAllowed}))
	return engine
}

// noRoute is the route pattern of requests that fit none.
const noRoute = "none"

type route struct {
	methods string
	pattern string
	door    door
}

func (s *service) routes() []route {
	const sar = "/apis/authorization.k8s.io/"
	v1 := door{webhook: true, check: named, answer: s.subjectAccessReview(reviewV1)}
	v1beta1 := door{webhook: true, check: named, answer: s.subjectAccessReview(reviewV1beta1)}
	routes := []route{
		{"POST", sar + "v1/subjectaccessreviews", v1},
		{"POST", sar + "v1beta1/subjectaccessreviews", v1beta1},
		{"POST", "/clusters/:cluster" + sar + "v1/subjectaccessreviews", v1},
		{"POST", "/clusters/:cluster" + sar + "v1beta1/subjectaccessreviews", v1beta1},
		{"POST", "/api/:version/ns/:namespace/:review", door{check: checkOrigin, answer: s.originReview}},
		{"POST", "/v1/decisions/access", door{check: checkMedia, answer: s.decisions}},
		{"POST", "/v1/decisions/visibility", door{check: checkVisible, answer: s.visibility, stream: s.stream}},
		{"GET HEAD", debugPath + "policies", door{handle: s.debugged(nil, s.policies)}},
		{"GET HEAD", debugPath + "permissions", door{handle: s.debugged([]string{"cluster"}, s.permissions)}},
		{"GET HEAD", typesPath, door{handle: s.debugged([]string{"include_source_details"}, s.customTypes)}},
		{"POST", debugPath + "cache/clear", door{handle: s.clearCache}},
		{"GET HEAD", "/v1/status", door{handle: s.status}},
		{"GET HEAD", "/healthz", door{quiet: true, handle: s.healthz}},
		{"GET HEAD", "/readyz", door{quiet: true, handle: s.readyz}},
		{"GET HEAD", "/metrics", door{handle: gin.WrapH(s.Metrics.Handler())}},
	}
	if s.Guard != nil {
		routes = append(routes, route{"POST", "/v1/decisions/gateway", door{check: checkMedia, answer: s.gatewayDecisions}})
	}
	if s.Effective != nil {
		routes = append(routes, s.effectiveRoutes()...)
	}
	if s.Poke != nil && s.PokeSecret != nil {
		routes = append(routes, route{"POST", "/v1/poke", door{handle: s.poke}})
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

// nothingHere is the refusal of a path that names nothing.
var nothingHere = &refusal{status: http.StatusNotFound, message: "there is nothing at this path"}

// named refuses a path of which a part that names something is empty; the router
// takes that for a name. Without its cluster a request would be out of every
// cluster's scope.
func named(c *gin.Context) *refusal {
	for i := range c.Params {
		if c.Params[i].Value == "" {
			return nothingHere
		}
	}
	return nil
}

// hidesSlash reports whether a path as it was written has a slash in disguise. The
// router takes it for one, and what stands before the server may not: a door that is
// kept shut there would be reached.
func hidesSlash(raw string) bool {
	return strings.Contains(raw, "%2F") || strings.Contains(raw, "%2f")
}

func (s *service) notFound(c *gin.Context) { s.refuse(c, nothingHere) }

func (s *service) notAllowed(c *gin.Context) {
	s.refuse(c, &refusal{
		status:  http.StatusMethodNotAllowed,
		message: "the method is not one of this path's: " + c.Writer.Header().Get("Allow"),
	})
}
