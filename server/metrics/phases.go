package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/writ-policy/writ/translator/progress"
)

// phases measures the duration of each phase of a reload, by name. The reload as a
// whole is not measured, because most reloads find that nothing has changed.
type phases struct {
	duration *prometheus.HistogramVec
	steps    map[progress.Name]prometheus.Observer
}

var _ progress.Observer = (*Metrics)(nil)

// Start begins to measure a span. It records only the duration.
func (m *Metrics) Start(ctx context.Context, p *progress.Span) (context.Context, progress.SpanObserver) {
	return ctx, &step{m.phases.steps[p.Name], time.Now()}
}

// step is a span in progress. If took is nil, it is not measured.
type step struct {
	took  prometheus.Observer
	began time.Time
}

func (s *step) Set(progress.Attribute, any) {}

func (s *step) End(error) {
	if s.took != nil {
		s.took.Observe(time.Since(s.began).Seconds())
	}
}
