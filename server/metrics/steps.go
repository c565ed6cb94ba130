package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/writ-policy/writ/internal/progress"
)

// stepDurations are the durations of the steps that bring documents and bundles into
// service. Operations are not measured: most of them find no change.
type stepDurations struct {
	duration *prometheus.HistogramVec
	byName   map[progress.Name]prometheus.Observer
}

var _ progress.Observer = (*Metrics)(nil)

// Start implements progress.Observer: it measures steps and ignores other spans.
func (m *Metrics) Start(ctx context.Context, s *progress.Span) (context.Context, progress.SpanObserver) {
	return ctx, &stepTimer{m.steps.byName[s.Name], time.Now()}
}

// stepTimer measures one step.
type stepTimer struct {
	duration prometheus.Observer // nil if the span is not a step
	started  time.Time
}

// Set implements progress.SpanObserver. Attributes are ignored.
func (s *stepTimer) Set(progress.Attribute, any) {}

// End implements progress.SpanObserver.
func (s *stepTimer) End(error) {
	if s.duration != nil {
		s.duration.Observe(time.Since(s.started).Seconds())
	}
}
