package metrics

import (
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

type instrument struct {
	name   string
	kind   string
	labels []string
	help   string
	make   func(*Metrics, *instrument) prometheus.Collector
}

// instruments is the list of all instruments. They are registered from it, and the
// table in docs/operating.md is generated from it.
var instruments = []instrument{
	{
		"writ_decisions_total", "counter", []string{"point", "outcome"},
		"Decisions by point and outcome (allow, deny, no_opinion, error).",
		func(m *Metrics, i *instrument) prometheus.Collector { return vector(&m.decisions, i) },
	},
	{
		"writ_decision_duration_seconds", "histogram", []string{"point"},
		"Time from a validated request to its decision, cached or not.",
		func(m *Metrics, i *instrument) prometheus.Collector {
			m.duration = prometheus.NewHistogramVec(prometheus.HistogramOpts{
				Name: i.name, Help: i.help,
				Buckets: []float64{1e-6, 5e-6, 25e-6, 1e-4, 25e-5, 5e-4, 1e-3, 25e-4, 5e-3, 25e-3, .1, .5, 2.5},
			}, i.labels)
			return m.duration
		},
	},
	{
		"writ_cache_hits_total", "counter", nil,
		"Decisions from the cache, or shared with an equal request in flight.",
		func(m *Metrics, i *instrument) prometheus.Collector { return counter(&m.cacheHits, i) },
	},
	{
		"writ_cache_misses_total", "counter", nil,
		"Decisions that were evaluated.",
		func(m *Metrics, i *instrument) prometheus.Collector { return counter(&m.cacheMisses, i) },
	},
	{
		"writ_cache_evictions_total", "counter", nil,
		"Decisions evicted from the cache by newer ones.",
		func(m *Metrics, i *instrument) prometheus.Collector { return counter(&m.cacheEvictions, i) },
	},
	{
		"writ_cache_kept_total", "counter", nil,
		"Decisions from the cache that were made at an earlier revision and that no change since affects.",
		func(m *Metrics, i *instrument) prometheus.Collector { return counter(&m.cacheKept, i) },
	},
	{
		"writ_cache_entries", "gauge", nil,
		"Decisions in the cache.",
		func(m *Metrics, i *instrument) prometheus.Collector { return gauge(&m.cacheEntries, i) },
	},
	{
		"writ_http_requests_total", "counter", []string{"route", "method", "code"},
		"Requests answered, by route pattern, method and status code.",
		func(m *Metrics, i *instrument) prometheus.Collector { return vector(&m.requests, i) },
	},
	{
		"writ_http_requests_in_flight", "gauge", nil,
		"Requests in flight.",
		func(m *Metrics, i *instrument) prometheus.Collector { return gauge(&m.inFlight, i) },
	},
	{
		"writ_http_requests_shed_total", "counter", nil,
		"Requests rejected because too many were in flight.",
		func(m *Metrics, i *instrument) prometheus.Collector { return counter(&m.shed, i) },
	},
	{
		"writ_requests_refused_total", "counter", []string{"reason"},
		"Requests and connections refused to bound memory, by reason (" + wordList(reasons) + ").",
		func(m *Metrics, i *instrument) prometheus.Collector { return vector(&m.bounded, i) },
	},
	{
		"writ_http_requests_panicked_total", "counter", nil,
		"Requests whose handler panicked. Each one is a bug.",
		func(m *Metrics, i *instrument) prometheus.Collector { return counter(&m.panics, i) },
	},
	{
		"writ_evaluations_overdue", "gauge", nil,
		"Evaluations that are still running after their request was denied at the deadline.",
		func(m *Metrics, i *instrument) prometheus.Collector { return gauge(&m.overdue, i) },
	},
	{
		"writ_evaluations_refused_total", "counter", nil,
		"Evaluations that were refused because too many were overdue. Their requests are denied.",
		func(m *Metrics, i *instrument) prometheus.Collector { return counter(&m.refused, i) },
	},
	{
		"writ_reloads_total", "counter", []string{"result"},
		"Reloads of the documents, by result (activated, unchanged, refused).",
		func(m *Metrics, i *instrument) prometheus.Collector { return vector(&m.reloads, i) },
	},
	{
		"writ_reloads_refused_total", "counter", []string{"reason"},
		"Reloads that were refused, by reason (" + wordList(causes) + ").",
		func(m *Metrics, i *instrument) prometheus.Collector { return vector(&m.causes, i) },
	},
	{
		"writ_assertions", "gauge", []string{"verdict"},
		"Assertions about the active revision, by verdict (holds, fails, excepted, unknown, vacuous, and pending before they are proven).",
		func(m *Metrics, i *instrument) prometheus.Collector { return gauges(&m.assertions, i) },
	},
	{
		"writ_reload_last_success_timestamp_seconds", "gauge", nil,
		"Unix time of the last reload without an error.",
		func(m *Metrics, i *instrument) prometheus.Collector { return gauge(&m.lastSuccess, i) },
	},
	{
		"writ_degraded", "gauge", nil,
		"1 while the active revision is older than the newest documents.",
		func(m *Metrics, i *instrument) prometheus.Collector { return gauge(&m.degraded, i) },
	},
	{
		"writ_state_failing", "gauge", nil,
		"1 while the state directory cannot be read, or the last good revision cannot be stored in it.",
		func(m *Metrics, i *instrument) prometheus.Collector { return gauge(&m.stateFails, i) },
	},
	{
		"writ_files_failing", "gauge", nil,
		"Files of tokens, keys, certificates, clusters and settings that cannot be read again: their previous content is in use.",
		func(m *Metrics, i *instrument) prometheus.Collector { return gauge(&m.filesFail, i) },
	},
	{
		"writ_key_withdrawn", "gauge", nil,
		"1 while the active revision is signed by a key that is no longer accepted.",
		func(m *Metrics, i *instrument) prometheus.Collector { return gauge(&m.withdrawn, i) },
	},
	{
		"writ_diagnostics", "gauge", []string{"severity"},
		"Diagnostics of the last reload, by severity (error, warning).",
		func(m *Metrics, i *instrument) prometheus.Collector {
			m.diagnostics = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: i.name, Help: i.help}, i.labels)
			return m.diagnostics
		},
	},
	{
		"writ_reload_phase_duration_seconds", "histogram", []string{"phase"},
		"Duration of the phases of a reload (snapshot, fetch, read, translate, build, check, activate, verify, keep, and wait for a long poll).",
		func(m *Metrics, i *instrument) prometheus.Collector {
			m.steps.duration = prometheus.NewHistogramVec(prometheus.HistogramOpts{
				Name: i.name, Help: i.help, Buckets: []float64{1e-3, 5e-3, 25e-3, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
			}, i.labels)
			return m.steps.duration
		},
	},
	{
		"writ_policies", "gauge", []string{"kind"},
		"Gateway policies, by kind.",
		func(m *Metrics, i *instrument) prometheus.Collector { return gauges(&m.inherited.policies, i) },
	},
	{
		"writ_policies_enforced", "gauge", []string{"kind", "status"},
		"Gateway policies by the status of their condition Enforced (true, false).",
		func(m *Metrics, i *instrument) prometheus.Collector { return gauges(&m.inherited.enforced, i) },
	},
	{
		"writ_policy_blocks", "gauge", []string{"kind", "block", "strategy"},
		"Blocks of gateway policies (bare, defaults, overrides), by strategy (atomic, merge).",
		func(m *Metrics, i *instrument) prometheus.Collector { return gauges(&m.inherited.blocks, i) },
	},
	{
		"writ_policy_rules_replaced", "gauge", []string{"kind", "how"},
		"Replaced rules of gateway policies on all paths, by the reason.",
		func(m *Metrics, i *instrument) prometheus.Collector { return gauges(&m.inherited.replaced, i) },
	},
	{
		"writ_policy_unset", "gauge", []string{"kind"},
		"Entries of unset in gateway policies.",
		func(m *Metrics, i *instrument) prometheus.Collector { return gauges(&m.inherited.unset, i) },
	},
	{
		"writ_effective_paths", "gauge", []string{"kind", "covered"},
		"Paths through gateways, by whether any rule of the kind is in force there (true, false).",
		func(m *Metrics, i *instrument) prometheus.Collector { return gauges(&m.inherited.paths, i) },
	},
	{
		"writ_sessions_in_force", "gauge", []string{"kind"},
		"Sessions that are in force now, by kind (BreakglassSession, DebugSession).",
		func(m *Metrics, i *instrument) prometheus.Collector {
			return i.atScrape(func(add func(float64, ...string)) {
				d := m.readDated()
				add(float64(d.Sessions), "BreakglassSession")
				add(float64(d.DebugSessions), "DebugSession")
			})
		},
	},
	{
		"writ_dated_next_timestamp_seconds", "gauge", nil,
		"Unix time at which the next document or session begins or ends; absent if none does.",
		func(m *Metrics, i *instrument) prometheus.Collector {
			return i.atScrape(func(add func(float64, ...string)) {
				if d := m.readDated(); !d.Next.IsZero() {
					add(float64(d.Next.UnixMilli()) / 1000)
				}
			})
		},
	},
	{
		"writ_companion_in_force", "gauge", []string{"cluster"},
		"1 if each API server of the cluster has the companion of the active revision in force, else 0.",
		func(m *Metrics, i *instrument) prometheus.Collector {
			return i.atScrape(func(add func(float64, ...string)) {
				if m.companions == nil {
					return
				}
				for cluster, is := range m.companions() {
					add(number(is), cluster)
				}
			})
		},
	},
	{
		"writ_revision_info", "gauge", []string{"revision"},
		"1, with the active revision as label.",
		func(m *Metrics, i *instrument) prometheus.Collector {
			m.revision = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: i.name, Help: i.help}, i.labels)
			return m.revision
		},
	},
	{
		"writ_point_by_opa", "gauge", []string{"point"},
		"1 where OPA evaluates the Rego of the active revision, 0 where a compiled form of it decides.",
		func(m *Metrics, i *instrument) prometheus.Collector {
			m.byOPA = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: i.name, Help: i.help}, i.labels)
			return m.byOPA
		},
	},
	{
		"writ_audit_events_dropped_total", "counter", []string{"sink"},
		"Audit events that a sink (file, webhook) did not accept.",
		func(m *Metrics, i *instrument) prometheus.Collector { return vector(&m.auditDropped, i) },
	},
	{
		"writ_decision_log_lost_total", "counter", []string{"reason"},
		"Decisions that are not in the decision log, by reason (queue, buffer, rate_limit, policy, sink).",
		func(m *Metrics, i *instrument) prometheus.Collector { return vector(&m.decisionsLost, i) },
	},
	{
		"breakglass_pod_security_evaluations_total", "counter", []string{"cluster", "policy", "action"},
		"Pod security evaluations, by policy and action (allow, warn, deny).",
		func(m *Metrics, i *instrument) prometheus.Collector { return vector(&m.pods.evaluations, i) },
	},
	{
		"breakglass_pod_security_risk_score", "histogram", []string{"cluster"},
		"Risk scores of evaluated pods, one per policy.",
		func(m *Metrics, i *instrument) prometheus.Collector {
			m.pods.score = prometheus.NewHistogramVec(prometheus.HistogramOpts{
				Name: i.name, Help: i.help, Buckets: []float64{10, 30, 50, 70, 90, 100, 150, 200},
			}, i.labels)
			return m.pods.score
		},
	},
	{
		"breakglass_pod_security_factors_total", "counter", []string{"cluster", "factor"},
		"Risk factors of evaluated pods, one per policy; all capabilities are counted as capability.",
		func(m *Metrics, i *instrument) prometheus.Collector { return vector(&m.pods.factors, i) },
	},
	{
		"breakglass_pod_security_denied_total", "counter", []string{"cluster", "policy"},
		"Requests that pod security denied, for a score, a factor or a pod that could not be read.",
		func(m *Metrics, i *instrument) prometheus.Collector { return vector(&m.pods.denied, i) },
	},
	{
		"breakglass_pod_security_warnings_total", "counter", []string{"cluster", "policy"},
		"Requests that pod security allowed with a warning, for a score.",
		func(m *Metrics, i *instrument) prometheus.Collector { return vector(&m.pods.warnings, i) },
	},
}

func counter(to *prometheus.Counter, i *instrument) prometheus.Collector {
	*to = prometheus.NewCounter(prometheus.CounterOpts{Name: i.name, Help: i.help})
	return *to
}

func gauge(to *prometheus.Gauge, i *instrument) prometheus.Collector {
	*to = prometheus.NewGauge(prometheus.GaugeOpts{Name: i.name, Help: i.help})
	return *to
}

func vector(to **prometheus.CounterVec, i *instrument) prometheus.Collector {
	*to = prometheus.NewCounterVec(prometheus.CounterOpts{Name: i.name, Help: i.help}, i.labels)
	return *to
}

// Table returns the instruments as a Markdown table.
func Table() string {
	var b strings.Builder
	b.WriteString("| metric | type | labels | meaning |\n| --- | --- | --- | --- |\n")
	for _, i := range instruments {
		labels := "–"
		if len(i.labels) > 0 {
			labels = "`" + strings.Join(i.labels, "`, `") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", i.name, i.kind, labels, i.help)
	}
	return b.String()
}
