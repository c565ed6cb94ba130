package metrics

import (
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// podSecurity are the instruments of pod security.
type podSecurity struct {
	evaluations *prometheus.CounterVec
	score       *prometheus.HistogramVec
	factors     *prometheus.CounterVec
	denied      *prometheus.CounterVec
	warnings    *prometheus.CounterVec

	mu       sync.Mutex        // guards clusters
	clusters map[string]string // each name to itself
}

// Judged is the result of one deny policy's pod security evaluation.
type Judged struct {
	Cluster, Policy string
	Action          string // allow, warn or deny
	// Evaluated is true if the pod was read, so that Score and Factors are set.
	Evaluated bool
	Score     int
	Factors   []string
}

// PodJudged counts one policy's pod security evaluation.
func (m *Metrics) PodJudged(j Judged) {
	p := &m.pods
	cluster := p.cluster(j.Cluster)
	p.evaluations.WithLabelValues(cluster, j.Policy, j.Action).Inc()
	switch j.Action {
	case "deny":
		p.denied.WithLabelValues(cluster, j.Policy).Inc()
	case "warn":
		p.warnings.WithLabelValues(cluster, j.Policy).Inc()
	}
	if !j.Evaluated {
		return
	}
	p.score.WithLabelValues(cluster).Observe(float64(j.Score))
	for _, factor := range j.Factors {
		name, _, _ := strings.Cut(factor, ":") // documents may name any number of capabilities
		p.factors.WithLabelValues(cluster, name).Inc()
	}
}

// maxClusters bounds the clusters with series of their own. Policies and factors come
// from documents, but callers choose the names of clusters.
const (
	maxClusters    = 1000
	maxClusterName = 253
)

// cluster returns the label of a cluster: its name, or "other" for a long name and for
// clusters beyond the bound. The label is a copy: a name is a part of the body of a request,
// which a series would keep in memory.
func (p *podSecurity) cluster(name string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if label, ok := p.clusters[name]; ok {
		return label
	}
	if len(p.clusters) >= maxClusters || len(name) > maxClusterName {
		return "other"
	}
	if p.clusters == nil {
		p.clusters = make(map[string]string)
	}
	label := strings.Clone(name)
	p.clusters[label] = label
	return label
}

// Sink is where audit events go besides the log.
type Sink string

// The sinks.
const (
	AuditFile    Sink = "file"
	AuditWebhook Sink = "webhook"
)

// AuditDropped counts events that a sink did not accept.
func (m *Metrics) AuditDropped(sink Sink, events int) {
	m.auditDropped.WithLabelValues(string(sink)).Add(float64(events))
}

// Loss is why a decision is not in the decision log.
type Loss string

// The reasons.
const (
	LostByQueue  Loss = "queue"      // decisions are made faster than they are logged
	LostByBuffer Loss = "buffer"     // the buffer of the upload is full, or an event does not fit
	LostByRate   Loss = "rate_limit" // more decisions per second than configured
	LostByPolicy Loss = "policy"     // a rule for masking or dropping fails
	LostBySink   Loss = "sink"       // the file cannot be written
)

// DecisionLost counts decisions that are not in the decision log.
func (m *Metrics) DecisionLost(loss Loss, n int) {
	m.decisionsLost.WithLabelValues(string(loss)).Add(float64(n))
}
