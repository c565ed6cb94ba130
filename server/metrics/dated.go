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

// readAtScrape is an instrument whose values are read at each scrape.
type readAtScrape struct {
	m       *Metrics
	desc    *prometheus.Desc
	collect func(d Dated, add func(value float64, labels ...string))
}

func (i *instrument) atScrape(m *Metrics, collect func(Dated, func(float64, ...string))) prometheus.Collector {
	return &readAtScrape{m, prometheus.NewDesc(i.name, i.help, i.labels, nil), collect}
}

// Describe implements prometheus.Collector.
func (r *readAtScrape) Describe(descriptions chan<- *prometheus.Desc) { descriptions <- r.desc }

// Collect implements prometheus.Collector.
func (r *readAtScrape) Collect(values chan<- prometheus.Metric) {
	var d Dated
	if r.m.dated != nil {
		d = r.m.dated()
	}
	r.collect(d, func(value float64, labels ...string) {
		values <- prometheus.MustNewConstMetric(r.desc, prometheus.GaugeValue, value, labels...)
	})
}
