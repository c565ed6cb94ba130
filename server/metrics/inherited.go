package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
)

// Inherited counts gateway policies and what they come to on all paths. Maps are by
// the values of the labels that the instruments have, in their order.
type Inherited struct {
	Policies map[[1]string]int
	Enforced map[[2]string]int
	Blocks   map[[3]string]int
	Replaced map[[2]string]int
	Unset    map[[1]string]int
	Paths    map[[2]string]int
}

// inherited are the gauges of Inherited.
type inherited struct {
	policies, enforced, blocks, replaced, unset, paths *prometheus.GaugeVec
}

// Inherits sets what the documents that are served come to, in place of what those
// before did.
func (m *Metrics) Inherits(counts Inherited) {
	set(m.inherited.policies, counts.Policies)
	set(m.inherited.enforced, counts.Enforced)
	set(m.inherited.replaced, counts.Replaced)
	set(m.inherited.unset, counts.Unset)
	set(m.inherited.paths, counts.Paths)
	set(m.inherited.blocks, counts.Blocks)
}

// set puts counts in place of what a gauge says. Between the two it may be read.
func set[L [1]string | [2]string | [3]string](gauges *prometheus.GaugeVec, counts map[L]int) {
	gauges.Reset()
	for labels, n := range counts {
		values := make([]string, 0, len(labels))
		for i := range len(labels) {
			values = append(values, labels[i])
		}
		gauges.WithLabelValues(values...).Set(float64(n))
	}
}

func gauges(to **prometheus.GaugeVec, i *instrument) prometheus.Collector {
	*to = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: i.name, Help: i.help}, i.labels)
	return *to
}
