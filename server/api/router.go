package api

import (
	"cmp"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/writ-policy/writ/internal/limits"
	"github.com/writ-policy/writ/server/api/access"
	"github.com/writ-policy/writ/server/api/admin"
	"github.com/writ-policy/writ/server/api/aggregated"
	"github.com/writ-policy/writ/server/api/authzen"
	"github.com/writ-policy/writ/server/api/dashboard"
	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/api/kubernetes"
	"github.com/writ-policy/writ/server/api/opadata"
	"github.com/writ-policy/writ/server/api/origin"
	"github.com/writ-policy/writ/server/api/questions"
	"github.com/writ-policy/writ/server/auth"
	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/server/console/handler"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/lists"
	"github.com/writ-policy/writ/server/metrics"
)

// Options configure the endpoints. Current and Metrics are required.
type Options struct {
	// Current returns the policies of the active revision. It is called once a request.
	Current func() decision.Policies
	Metrics *metrics.Metrics
	// Cache keeps the authorizations of users that Current returns; nil keeps none.
	Cache dashboard.Cache
	// Ready reports whether requests should be sent here; nil means always.
	Ready func() bool
	// Status is what GET /v1/status shows, as JSON, to callers that may see details and to
	// others; nil shows an empty object. StatusForm is a value of its type with details, for
	// the OpenAPI document.
	Status     func(details bool) any
	StatusForm any
	// Rule is who may ask on the listener.
	Rule auth.Rule
	// MetricsApart leaves /metrics to the handler of NewMetrics.
	MetricsApart bool
	// Poke makes the source of the documents look for new ones; nil means that the endpoint
	// does not exist. PokeSecret returns the secret that its callers prove to know.
	Poke       func()
	PokeSecret func() []byte
	// Clusters complete reviews; nil means that reviews are evaluated as they come.
	Clusters access.Clusters
	// Companions are those of clusters; nil means that no cluster has one.
	Companions access.Companions
	// Console answers what the web console shows; nil means that the listener is
	// without its endpoints. ConsoleApart is true if another listener has them.
	Console      console.Console
	ConsoleApart bool
	// Recorder keeps decisions; nil keeps none.
	Recorder access.Recorder
	// Locator finds the namespaces of lists; nil means that only documents name them.
	Locator *lists.Locator
	// Proofs verify assertions; nil means that the listener verifies none.
	Proofs questions.Proofs
	// Log records decisions for collectors; nil records none.
	Log decision.Log
	// Observer observes decisions; nil observes none.
	Observer decision.Observer
	// SessionKey and EscalationKey are the keys of a review's extra that hold its
	// session and escalation; empty means those of package kubernetes.
	SessionKey    string
	EscalationKey string
	// PublicURL is the scheme and host of the server as its callers know it; empty means
	// those of each request.
	PublicURL string
	// Tracer follows requests that their senders trace; nil follows none.
	Tracer Tracer
	// Logger records requests; nil discards.
	Logger *slog.Logger
	// MaxBody is the largest body in bytes; zero means defaultMaxBody.
	MaxBody int64
	// MaxValues is how many JSON values a body may have; zero means defaultMaxValues.
	// Values is the budget of values of all requests together; nil is unlimited.
	MaxValues int
	Values    *limits.Budget
	// MaxAnswer is the size in bytes of the largest answer to who-can and what-can; zero
	// means defaultMaxAnswer.
	MaxAnswer int
	// MaxInFlight is how many requests for decisions are answered at a time;
	// zero means defaultMaxInFlight.
	MaxInFlight int
	// Timeout bounds a decision; zero means defaultTimeout.
	Timeout time.Duration
}

// Bounds where Options leave them at zero.
const (
	defaultMaxBody     = 1 << 20
	defaultMaxValues   = 20_000
	defaultMaxAnswer   = 8 << 20
	defaultMaxInFlight = 512
	defaultTimeout     = 10 * time.Second
)

// New returns the handler of all endpoints.
func New(o Options) http.Handler {
	o.setDefaults()
	service := exchange.New(exchange.Options{
		Current: o.Current, Rule: o.Rule, Metrics: o.Metrics, Logger: o.Logger, Log: o.Log, Observer: o.Observer, Filters: o.Recorder,
		MaxBody: o.MaxBody, MaxValues: o.MaxValues, Values: o.Values, MaxInFlight: o.MaxInFlight, Timeout: o.Timeout,
	})
	decider := access.New(service, access.Options{Clusters: o.Clusters, Companions: o.Companions, Recorder: o.Recorder})
	reviews := &kubernetes.Reviews{Service: service, Decider: decider, SessionKey: o.SessionKey, EscalationKey: o.EscalationKey}
	c := &canonical{service: service, decider: decider, streams: limits.NewBudget(maxStreams)}
	data := &opadata.API{Service: service, Decide: c.decide, Labels: decider.Labels, MaxAnswer: o.MaxAnswer}
	z := &authzen.API{Service: service, Decider: decider, PublicURL: o.PublicURL}
	d := &dashboard.Dashboard{Service: service, Cache: o.Cache, Labels: decider.Labels}
	asked := &questions.API{
		Service: service, MaxAnswer: o.MaxAnswer, Locator: cmp.Or(o.Locator, new(lists.Locator)), Proofs: o.Proofs,
		Pages: &lists.Pages{Now: time.Now}, Labels: decider.Labels,
	}
	ops := &operations{service: service, options: &o}
	w := &wrapper{service: service, tracer: o.Tracer}

	routes := slices.Concat(
		reviewRoutes(reviews, &origin.Reviews{Service: service, Decider: decider}), authzenRoutes(z), dataRoutes(data),
		dashboardRoutes(d), effectiveRoutes(service), questionRoutes(asked), ops.pages(), ops.probes(), c.routes(),
	)
	if !o.MetricsApart {
		routes = append(routes, ops.metrics())
	}
	if o.Console != nil {
		routes = append(routes, consoleRoutes(handler.New(o.consoleService(), o.Console))...)
	}
	if o.Poke != nil && o.PokeSecret != nil {
		routes = append(routes, ops.pokes())
	}
	return w.router("writ", routes)
}

// consoleService is what the endpoints of the console share: their places and their time are
// apart from those of decisions.
func (o *Options) consoleService() *exchange.Service {
	return exchange.New(exchange.Options{
		Current: o.Current, Rule: o.Rule, Metrics: o.Metrics, Logger: o.Logger,
		MaxBody: o.MaxBody, MaxValues: o.MaxValues, Values: o.Values, MaxInFlight: handler.Places, Timeout: handler.Timeout,
	})
}

func (o *Options) setDefaults() {
	o.Cache = cmp.Or[dashboard.Cache](o.Cache, noCache{})
	if o.Ready == nil {
		o.Ready = func() bool { return true }
	}
	if o.Status == nil {
		o.Status = func(bool) any { return struct{}{} }
	}
	o.StatusForm = cmp.Or[any](o.StatusForm, struct{}{})
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.SessionKey = cmp.Or(o.SessionKey, kubernetes.DefaultSessionKey)
	o.EscalationKey = cmp.Or(o.EscalationKey, kubernetes.DefaultEscalationKey)
	o.MaxBody = cmp.Or(max(o.MaxBody, 0), defaultMaxBody)
	o.MaxValues = cmp.Or(max(o.MaxValues, 0), defaultMaxValues)
	o.MaxAnswer = cmp.Or(max(o.MaxAnswer, 0), defaultMaxAnswer)
	o.MaxInFlight = cmp.Or(max(o.MaxInFlight, 0), defaultMaxInFlight)
	o.Timeout = cmp.Or(max(o.Timeout, 0), defaultTimeout)
}

// noCache is a Cache that keeps nothing.
type noCache struct{}

func (noCache) Forget(decision.Policies, string) int { return 0 }

// NewMetrics returns the handler of a listener for metrics and probes alone.
func NewMetrics(o Options) http.Handler {
	o.setDefaults()
	service := exchange.New(exchange.Options{
		Current: o.Current, Rule: o.Rule, Metrics: o.Metrics, Logger: o.Logger, MaxBody: exchange.SmallBody,
	})
	ops := &operations{service: service, options: &o}
	w := &wrapper{service: service}
	return w.router("writ: metrics", append(ops.probes(), ops.metrics()))
}

// NewConsole returns the handler of a listener for the endpoints of the web console alone.
func NewConsole(o Options) http.Handler {
	o.setDefaults()
	service := o.consoleService()
	ops := &operations{service: service, options: &o}
	w := &wrapper{service: service}
	routes := consoleRoutes(handler.New(service, o.Console))
	return w.router("writ: web console", append(routes, ops.start(consoleIndex)))
}

// AdminOptions configure the endpoints of operators. All fields but Logger are required.
type AdminOptions struct {
	RevisionStore admin.RevisionStore
	Metrics       *metrics.Metrics
	// Rule is who may ask on the listener.
	Rule auth.Rule
	// Logger records requests; nil discards.
	Logger *slog.Logger
}

// NewAdmin returns the handler of the endpoints that change the active revision.
func NewAdmin(o AdminOptions) http.Handler {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	service := exchange.New(exchange.Options{
		Rule: o.Rule, Metrics: o.Metrics, Logger: o.Logger, MaxBody: exchange.SmallBody,
	})
	a := &admin.Admin{Service: service, Store: o.RevisionStore}
	w := &wrapper{service: service}
	return w.router("writ: operators", adminRoutes(a))
}

// AggregatedOptions configure the endpoints of an aggregated API. MaxAnswer and Timeout are as
// in Options, Logger may be nil, and all other fields but Ready are required.
type AggregatedOptions struct {
	aggregated.Options
	Current func() decision.Policies
	Metrics *metrics.Metrics
	// Rule is who may ask: users whom a front proxy names.
	Rule auth.Rule
	// Ready reports whether requests should be sent here; nil means always.
	Ready   func() bool
	Logger  *slog.Logger
	Timeout time.Duration
}

// NewAggregated returns the handler of the listener that an API server aggregates.
func NewAggregated(o AggregatedOptions) http.Handler {
	own := Options{Ready: o.Ready, Logger: o.Logger, MaxAnswer: o.MaxAnswer, Timeout: o.Timeout}
	own.setDefaults()
	o.Service = exchange.New(exchange.Options{
		Current: o.Current, Rule: o.Rule, Metrics: o.Metrics, Logger: own.Logger, MaxBody: exchange.SmallBody, Timeout: own.Timeout,
	})
	o.MaxAnswer = own.MaxAnswer
	w := &wrapper{service: o.Service, form: exchange.Status}
	return w.router("writ: aggregated API", aggregatedRoutes(aggregated.New(o.Options), (&operations{service: o.Service, options: &own}).probes()))
}

// router returns the handler of the routes, and of the document that describes them.
func (w *wrapper) router(title string, routes []route) http.Handler {
	routes = append(routes, describe(title, routes))
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	engine.RedirectTrailingSlash = false
	engine.HandleMethodNotAllowed = true
	engine.ForwardedByClientIP = false
	for _, route := range routes {
		handler := w.wrap(route)
		for method := range strings.FieldsSeq(route.methods) {
			engine.Handle(method, route.pattern, handler)
		}
	}
	engine.NoRoute(w.wrap(route{pattern: noRoute, role: auth.Decisions, handler: w.notFound}))
	engine.NoMethod(w.wrap(route{pattern: noRoute, role: auth.Decisions, handler: w.notAllowed}))
	return engine
}

// noRoute is the route pattern of requests that fit none.
const noRoute = "none"

func (w *wrapper) notFound(rw http.ResponseWriter, r *http.Request) {
	w.service.Refuse(rw, w.formOf(&route{pattern: noRoute}, r), exchange.NotFound)
}

func (w *wrapper) notAllowed(rw http.ResponseWriter, r *http.Request) {
	if methods, isOrigin := origin.Methods(r.URL.Path); isOrigin {
		(&origin.Reviews{Service: w.service}).Refuse(rw, methods)
		return
	}
	w.service.Refuse(rw, w.formOf(&route{pattern: noRoute}, r), exchange.MethodNotAllowed(rw.Header().Get("Allow")))
}

// formOf is the form of refusals of a request to the route.
func (w *wrapper) formOf(d *route, r *http.Request) exchange.Form {
	switch {
	case w.form != nil:
		return w.form
	case d.form != nil:
		return d.form
	case d.pattern != noRoute:
		return exchange.Problem
	}
	return formBelow(r.URL.Path)
}

// formBelow is the form of the protocol whose clients ask below a path.
func formBelow(path string) exchange.Form {
	if strings.HasPrefix(path, dashboardPath) || path == typesPath {
		return dashboard.Form
	}
	if path == "/v1/compile" { // a client of OPA that names no rule
		return opadata.CompileForm
	}
	if rest, ok := strings.CutPrefix(path, "/clusters/"); ok {
		if _, below, found := strings.Cut(rest, "/"); found {
			path = "/" + below
		}
	}
	if strings.HasPrefix(path, "/apis/") || strings.HasPrefix(path, "/api/") {
		return exchange.Status
	}
	return exchange.Problem
}
