package decisionlog

import (
	"log/slog"
	"strings"

	"github.com/open-policy-agent/opa/v1/logging"
	opa "github.com/open-policy-agent/opa/v1/metrics"

	"github.com/writ-policy/writ/server/metrics"
)

// Debug implements logging.Logger, and so on.
func (l *logger) Debug(format string, a ...any) { l.write(slog.LevelDebug, format, a...) }

// Info is also how events come to the console.
func (l *logger) Info(format string, a ...any) {
	if l.fields["type"] == "openpolicyagent.org/decision_logs" {
		l.write(slog.LevelInfo, format, a...)
		return
	}
	l.write(slog.LevelDebug, format, a...) // what plugins do
}

// Warn implements logging.Logger.
func (l *logger) Warn(format string, a ...any) { l.write(slog.LevelWarn, format, a...) }

// Error also counts decisions that are lost because a rule fails.
func (l *logger) Error(format string, a ...any) {
	if strings.HasPrefix(format, "Log event masking failed") || strings.HasPrefix(format, "Log drop decision failed") {
		l.lost()
	}
	l.write(slog.LevelError, format, a...)
}

// WithFields implements logging.Logger.
func (l *logger) WithFields(fields map[string]any) logging.Logger {
	return &logger{log: l.log, lost: l.lost, fields: fields}
}

// GetLevel is that of the logger below: it decides what is written.
func (*logger) GetLevel() logging.Level { return logging.Debug }

// SetLevel has no effect.
func (*logger) SetLevel(logging.Level) {}

// lossCounters are the counters of OPA's plugin for what it does not upload.
var lossCounters = map[string]metrics.Loss{
	"decision_logs_dropped_rate_limit_exceeded":              metrics.LostByRate,
	"decision_logs_dropped_buffer_size_limit_exceeded":       metrics.LostByBuffer,
	"decision_logs_dropped_buffer_size_limit_bytes_exceeded": metrics.LostByBuffer,
	"decision_logs_encoding_failure":                         metrics.LostByBuffer,
	"enc_log_exceeded_upload_size_limit_bytes":               metrics.LostByBuffer,
}

// counting counts losses of OPA's plugin as those of the server.
type counting struct{ to *metrics.Metrics }

// Counter implements opa.Metrics.
func (c counting) Counter(name string) opa.Counter {
	if loss, ok := lossCounters[name]; ok {
		return counter{c.to, loss}
	}
	return opa.NoOp().Counter(name)
}

// Info implements opa.Metrics.
func (counting) Info() opa.Info { return opa.NoOp().Info() }

// Timer implements opa.Metrics.
func (counting) Timer(name string) opa.Timer { return opa.NoOp().Timer(name) }

// Histogram implements opa.Metrics.
func (counting) Histogram(name string) opa.Histogram { return opa.NoOp().Histogram(name) }

// All implements opa.Metrics.
func (counting) All() map[string]any { return nil }

// Clear implements opa.Metrics.
func (counting) Clear() {}

// MarshalJSON implements opa.Metrics.
func (counting) MarshalJSON() ([]byte, error) { return []byte("{}"), nil }

type counter struct {
	to   *metrics.Metrics
	loss metrics.Loss
}

// Value implements opa.Counter.
func (counter) Value() any { return uint64(0) }

// Incr implements opa.Counter.
func (c counter) Incr() { c.Add(1) }

// Add implements opa.Counter.
func (c counter) Add(n uint64) { c.to.DecisionLost(c.loss, int(n)) }
