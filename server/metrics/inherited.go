package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
)

// Inherited counts gateway policies and their rules on all paths. The keys of the maps
// are the label values of the instruments, in their order.
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

// Inherits replaces the counts of gateway policies by those of the active revision.
func (m *Metrics) Inherits(counts Inherited) {
	set(m.inherited.policies, counts.Policies)
	set(m.inherited.enforced, counts.Enforced)
	set(m.inherited.replaced, counts.Replaced)
	set(m.inherited.unset, counts.Unset)
	set(m.inherited.paths, counts.Paths)
	set(m.inherited.blocks, counts.Blocks)
}

// set replaces the series of a gauge. It is not atomic: a scrape may see part of it.
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
