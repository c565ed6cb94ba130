// Package metrics holds all instruments of the server on a registry of its own, and
// serves them to Prometheus. Callers pass numbers and label values from closed sets,
// so that requests cannot create new series. The package knows nothing about what it
// counts.
//
// # Design
//
// The instruments are behind methods and not exported fields, so that a caller cannot
// pass a label value outside the set. The rejected alternative, a shared registry with
// instruments beside the code they measure, makes it possible to count the same thing
// under two names.
package metrics

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/writ-policy/writ/internal/progress"
	"github.com/writ-policy/writ/server/decision"
)

// Metrics are the server's instruments. Its methods are safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry

	decisions *prometheus.CounterVec
	duration  *prometheus.HistogramVec

	cacheHits      prometheus.Counter
	cacheMisses    prometheus.Counter
	cacheEvictions prometheus.Counter
	cacheKept      prometheus.Counter
	cacheEntries   prometheus.Gauge

	requests *prometheus.CounterVec
	inFlight prometheus.Gauge
	shed     prometheus.Counter
	bounded  *prometheus.CounterVec
	panics   prometheus.Counter
	overdue  prometheus.Gauge
	refused  prometheus.Counter

	reloads     *prometheus.CounterVec
	causes      *prometheus.CounterVec
	assertions  *prometheus.GaugeVec
	lastSuccess prometheus.Gauge
	degraded    prometheus.Gauge
	stateFails  prometheus.Gauge
	filesFail   prometheus.Gauge
	diagnostics *prometheus.GaugeVec
	steps       stepDurations
	withdrawn   prometheus.Gauge
	companions  func() map[string]bool // nil: none

	dated        func() Dated // nil before ReadDated
	inherited    inherited
	pods         podSecurity
	auditDropped *prometheus.CounterVec
	// decisionsLost are those that are not in the decision log.
	decisionsLost *prometheus.CounterVec

	mu       sync.Mutex // held to swap the one series of revision
	revision *prometheus.GaugeVec
	byOPA    *prometheus.GaugeVec
	active   string
}

// New registers the instruments. Counters with a closed set of label values start at
// zero, so that rates are correct from the first event.
func New() *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for i := range instruments {
		m.registry.MustRegister(instruments[i].make(m, &instruments[i]))
	}
	for _, result := range []Result{Activated, Unchanged, Refused} {
		m.reloads.WithLabelValues(string(result))
	}
	for _, cause := range causes {
		m.causes.WithLabelValues(string(cause))
	}
	for _, verdict := range verdicts {
		m.assertions.WithLabelValues(verdict)
	}
	for _, reason := range reasons {
		m.bounded.WithLabelValues(string(reason))
	}
	for _, sink := range []Sink{AuditFile, AuditWebhook} {
		m.auditDropped.WithLabelValues(string(sink))
	}
	for _, loss := range []Loss{LostByQueue, LostByBuffer, LostByRate, LostByPolicy, LostBySink} {
		m.decisionsLost.WithLabelValues(string(loss))
	}
	m.steps.byName = make(map[progress.Name]prometheus.Observer)
	for _, name := range progress.Steps {
		m.steps.byName[name] = m.steps.duration.WithLabelValues(string(name))
	}
	m.Diagnosed(0, 0)
	return m
}

// Handler serves the metrics in Prometheus' text format.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 10 * time.Second})
}

// Point counts the decisions of one point.
type Point struct {
	decisions [decision.EvaluationError + 1]prometheus.Counter
	duration  prometheus.Observer
}

// Point returns the counters of a point. The name is one of the fixed points, never a
// value from a request.
func (m *Metrics) Point(name string) *Point {
	p := &Point{duration: m.duration.WithLabelValues(name)}
	for i := range p.decisions {
		p.decisions[i] = m.decisions.WithLabelValues(name, decision.Outcome(i).String())
	}
	return p
}

// Decided counts one decision and the time from request to decision.
func (p *Point) Decided(outcome decision.Outcome, took time.Duration) {
	p.decisions[outcome].Inc()
	p.duration.Observe(took.Seconds())
}

// CacheHit counts a decision from the cache, or shared with an equal request in flight.
func (m *Metrics) CacheHit() { m.cacheHits.Inc() }

// CacheMissed counts a decision that was evaluated.
func (m *Metrics) CacheMissed() { m.cacheMisses.Inc() }

// CacheEvicted counts a decision that was evicted by a newer one.
func (m *Metrics) CacheEvicted() { m.cacheEvictions.Inc() }

// CacheKept counts a decision of an earlier revision that is still that of the present one.
func (m *Metrics) CacheKept() { m.cacheKept.Inc() }

// CacheHolds sets the number of cached decisions.
func (m *Metrics) CacheHolds(entries int) { m.cacheEntries.Set(float64(entries)) }

// Route counts the requests of one route pattern.
type Route struct {
	requests *prometheus.CounterVec
	pattern  string
	post     func() prometheus.Counter // POST answered with 200, the most frequent case
}

// Route returns the counters of a route pattern. The pattern is that of the router,
// never the path of a request.
func (m *Metrics) Route(pattern string) *Route {
	return &Route{m.requests, pattern, sync.OnceValue(func() prometheus.Counter {
		return m.requests.WithLabelValues(pattern, http.MethodPost, "200")
	})}
}

// Answered counts one request by its method and status code.
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

// Began increments the requests in flight.
func (m *Metrics) Began() { m.inFlight.Inc() }

// Ended decrements the requests in flight.
func (m *Metrics) Ended() { m.inFlight.Dec() }

// Shed counts a request that was rejected because too many were in flight.
func (m *Metrics) Shed() { m.shed.Inc() }

// Panicked counts a request whose handler panicked.
func (m *Metrics) Panicked() { m.panics.Inc() }

// EvaluationOverdue adds change, which may be negative, to the evaluations that are
// still running after their deadline.
func (m *Metrics) EvaluationOverdue(change int) { m.overdue.Add(float64(change)) }

// EvaluationRefused counts an evaluation that was refused because too many were overdue.
func (m *Metrics) EvaluationRefused() { m.refused.Inc() }

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
	m.degraded.Set(number(yes))
}

// StateFails sets whether the state directory cannot be read or written.
func (m *Metrics) StateFails(yes bool) {
	m.stateFails.Set(number(yes))
}

// FileFails counts a file that cannot be read again, or no longer.
func (m *Metrics) FileFails(yes bool) { m.filesFail.Add(2*number(yes) - 1) }

// KeyWithdrawn sets whether the active revision is signed by a key that is no longer
// accepted.
func (m *Metrics) KeyWithdrawn(yes bool) {
	m.withdrawn.Set(number(yes))
}

// Diagnosed sets the number of diagnostics of the last reload.
func (m *Metrics) Diagnosed(errors, warnings int) {
	m.diagnostics.WithLabelValues("error").Set(float64(errors))
	m.diagnostics.WithLabelValues("warning").Set(float64(warnings))
}

// ByOPA sets, for each point, whether OPA evaluates the Rego of the active revision.
func (m *Metrics) ByOPA(points map[string]bool) {
	for point, yes := range points {
		m.byOPA.WithLabelValues(point).Set(number(yes))
	}
}

func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// Serves sets the active revision. Its series replaces that of the previous one.
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
