package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/writ-policy/writ/translator/progress"
)

// phases are the times of the steps by which documents and bundles come into
// service, by name. Pieces of work as a whole are not measured: most of them find
// that nothing has changed.
type phases struct {
	duration *prometheus.HistogramVec
	steps    map[progress.Name]prometheus.Observer
}

var _ progress.Observer = (*Metrics)(nil)

// Begin measures a step, and hears of nothing else.
func (m *Metrics) Start(ctx context.Context, p *progress.Span) (context.Context, progress.SpanObserver) {
	return ctx, &step{m.phases.steps[p.Name], time.Now()}
}

// step is one that is under way. Without an observer it is not measured.
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
