package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Dated is what the clock changes in the active revision. Next is zero if nothing begins or
// ends.
type Dated struct {
	Sessions, DebugSessions int
	Next                    time.Time
}

// ReadDated sets the function that each scrape calls. It is called before the metrics are
// served.
func (m *Metrics) ReadDated(read func() Dated) { m.dated = read }

// ReadCompanions sets the function that each scrape calls for the clusters with a companion,
// and whether it is in force. It is called before the metrics are served.
func (m *Metrics) ReadCompanions(read func() map[string]bool) { m.companions = read }

// readAtScrape is an instrument whose values are read at each scrape.
type readAtScrape struct {
	desc    *prometheus.Desc
	collect func(add func(value float64, labels ...string))
}

func (i *instrument) atScrape(collect func(add func(float64, ...string))) prometheus.Collector {
	return &readAtScrape{prometheus.NewDesc(i.name, i.help, i.labels, nil), collect}
}

// readDated returns what the clock changes now.
func (m *Metrics) readDated() Dated {
	if m.dated == nil {
		return Dated{}
	}
	return m.dated()
}

// Describe implements prometheus.Collector.
func (r *readAtScrape) Describe(descriptions chan<- *prometheus.Desc) { descriptions <- r.desc }

// Collect implements prometheus.Collector.
func (r *readAtScrape) Collect(values chan<- prometheus.Metric) {
	r.collect(func(value float64, labels ...string) {
		values <- prometheus.MustNewConstMetric(r.desc, prometheus.GaugeValue, value, labels...)
	})
}
