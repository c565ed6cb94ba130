// Package metrics holds every instrument of the server, on a registry of its
// own. It takes plain numbers and words from closed sets, so that no request can
// make a new series, and gives the page that Prometheus reads. It knows nothing
// of what it counts.
//
// # Design
//
// The instruments are behind methods, not exported fields: a caller cannot pass
// a label value that is not of the set. The alternative, a registry handed
// around and instruments beside the code they count, lets the same thing be
// counted under two names.
package metrics

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/writ-policy/writ/translator/progress"
)

// Metrics are the server's instruments. Its methods are safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry

	decisions *prometheus.CounterVec
	duration  *prometheus.HistogramVec

	cacheHits      prometheus.Counter
	cacheMisses    prometheus.Counter
	cacheEvictions prometheus.Counter
	cacheEntries   prometheus.Gauge

	requests *prometheus.CounterVec
	inFlight prometheus.Gauge
	shed     prometheus.Counter
	panics   prometheus.Counter

	reloads     *prometheus.CounterVec
	lastSuccess prometheus.Gauge
	degraded    prometheus.Gauge
	stateFails  prometheus.Gauge
	diagnostics *prometheus.GaugeVec
	phases      phases
	withdrawn   prometheus.Gauge

	inherited    inherited
	pods         podSecurity
	auditDropped *prometheus.CounterVec

	mu       sync.Mutex // held to swap the one series of revision
	revision *prometheus.GaugeVec
	active   string
}

// New registers the instruments. Counters with a closed set of labels begin at
// zero, so that a rate over them is right from the first event on.
func New() *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for i := range instruments {
		m.registry.MustRegister(instruments[i].make(m, &instruments[i]))
	}
	for _, result := range []Result{Activated, Unchanged, Refused} {
		m.reloads.WithLabelValues(string(result))
	}
	for _, sink := range []Sink{AuditFile, AuditWebhook} {
		m.auditDropped.WithLabelValues(string(sink))
	}
	m.phases.steps = make(map[progress.Name]prometheus.Observer)
	for _, name := range progress.Steps {
		m.phases.steps[name] = m.phases.duration.WithLabelValues(string(name))
	}
	m.Diagnosed(0, 0)
	return m
}

// Handler serves the metrics page.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 10 * time.Second})
}

// Outcome is how a decision ended.
type Outcome int

// The outcomes. Trouble is a denial for want of a decision.
const (
	NoOpinion Outcome = iota
	Allow
	Deny
	Trouble
	outcomes
)

var outcomeLabels = [outcomes]string{"no_opinion", "allow", "deny", "trouble"}

// Point counts the decisions of one point.
type Point struct {
	decisions [outcomes]prometheus.Counter
	duration  prometheus.Observer
}

// Point is the counter of the point of that name: one of a fixed few, never a
// word of a request.
func (m *Metrics) Point(name string) *Point {
	p := &Point{duration: m.duration.WithLabelValues(name)}
	for i, label := range outcomeLabels {
		p.decisions[i] = m.decisions.WithLabelValues(name, label)
	}
	return p
}

// Decided counts one decision and the time from request to decision.
func (p *Point) Decided(outcome Outcome, took time.Duration) {
	p.decisions[outcome].Inc()
	p.duration.Observe(took.Seconds())
}

// CacheHit counts a decision that was kept, or shared with an equal request.
func (m *Metrics) CacheHit() { m.cacheHits.Inc() }

// CacheMissed counts a decision that had to be made.
func (m *Metrics) CacheMissed() { m.cacheMisses.Inc() }

// CacheEvicted counts a decision that gave way to a newer one.
func (m *Metrics) CacheEvicted() { m.cacheEvictions.Inc() }

// CacheHolds says how many decisions are kept.
func (m *Metrics) CacheHolds(entries int) { m.cacheEntries.Set(float64(entries)) }

// Route counts the requests of one route pattern.
type Route struct {
	requests *prometheus.CounterVec
	pattern  string
	post     func() prometheus.Counter // POST answered with 200: what doors mostly see
}

// Route is the counter of a route pattern, as the router has it and never the
// path of a request.
func (m *Metrics) Route(pattern string) *Route {
	return &Route{m.requests, pattern, sync.OnceValue(func() prometheus.Counter {
		return m.requests.WithLabelValues(pattern, http.MethodPost, "200")
	})}
}

// Answered counts one request.
func (r *Route) Answered(method string, code int) {
	if method == http.MethodPost && code == http.StatusOK {
		r.post().Inc()
		return
	}
	r.requests.WithLabelValues(r.pattern, methodLabel(method), codeLabel(code)).Inc()
}

func methodLabel(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodOptions:
		return method
	}
	return "other"
}

func codeLabel(code int) string {
	if http.StatusText(code) == "" {
		return "other"
	}
	return strconv.Itoa(code)
}

// Began counts a request in, Ended out.
func (m *Metrics) Began() { m.inFlight.Inc() }

// Ended counts a request out that Began counted in.
func (m *Metrics) Ended() { m.inFlight.Dec() }

// Shed counts a request that was refused because too many were in flight.
func (m *Metrics) Shed() { m.shed.Inc() }

// Panicked counts a request whose handler panicked.
func (m *Metrics) Panicked() { m.panics.Inc() }

// Result is how a reload ended.
type Result string

// The results of a reload.
const (
	Activated Result = "activated"
	Unchanged Result = "unchanged"
	Refused   Result = "refused" // the last good revision stays
)

// Reloaded counts a reload. One that was not refused is the last success.
func (m *Metrics) Reloaded(result Result, at time.Time) {
	m.reloads.WithLabelValues(string(result)).Inc()
	if result != Refused {
		m.lastSuccess.Set(float64(at.UnixMilli()) / 1000)
	}
}

// Degraded says whether an older revision than the newest documents is served.
func (m *Metrics) Degraded(yes bool) {
	value := 0.0
	if yes {
		value = 1
	}
	m.degraded.Set(value)
}

// StateFails says whether the state directory does not do what it is for.
func (m *Metrics) StateFails(yes bool) {
	value := 0.0
	if yes {
		value = 1
	}
	m.stateFails.Set(value)
}

// KeyWithdrawn says whether what is served is signed by a key that would not be
// accepted now.
func (m *Metrics) KeyWithdrawn(yes bool) {
	value := 0.0
	if yes {
		value = 1
	}
	m.withdrawn.Set(value)
}

// Diagnosed says how many diagnostics the last reload had.
func (m *Metrics) Diagnosed(errors, warnings int) {
	m.diagnostics.WithLabelValues("error").Set(float64(errors))
	m.diagnostics.WithLabelValues("warning").Set(float64(warnings))
}

// Serves says which revision answers. Its series replaces that of the one
// before.
func (m *Metrics) Serves(revision string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if revision == m.active {
		return
	}
	m.revision.Reset()
	m.active = revision
	m.revision.WithLabelValues(revision).Set(1)
}
