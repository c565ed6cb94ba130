package audit

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/metrics"
)

// Options configure where events are written. The zero value writes none.
type Options struct {
	// Logger logs each event. Nil means that events are not logged.
	Logger *slog.Logger
	// File is the path of a file to which events are appended as JSON lines. Empty
	// means none.
	File string
	// Webhook is the URL to which events are posted. Empty means none.
	Webhook string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Log records the events of decisions. It is safe for concurrent use.
type Log struct {
	logger  *slog.Logger
	now     func() time.Time
	file    *file    // nil without a file
	webhook *webhook // nil without a webhook
}

// Open opens the log. It returns an error if the file cannot be opened or the URL is
// invalid. It does not connect to the webhook, which may start later.
func Open(o Options, m *metrics.Metrics) (*Log, error) {
	l := &Log{logger: o.Logger, now: o.Now}
	l.logger = cmp.Or(l.logger, slog.New(slog.DiscardHandler))
	if l.now == nil {
		l.now = time.Now
	}
	var err error
	if o.Webhook != "" {
		if l.webhook, err = newWebhook(o.Webhook, l.logger, m); err != nil {
			return nil, err
		}
	}
	if o.File != "" {
		if l.file, err = openFile(o.File, l.logger, m); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// Record writes the events of the decision on r, if there are any.
func (l *Log) Record(ctx context.Context, r *decision.Request, d *decision.Decision) {
	l.record(ctx, eventsOf(r, d, l.now))
}

// RecordFilter writes the event of a filter.
func (l *Log) RecordFilter(ctx context.Context, f *decision.Filter) {
	l.record(ctx, []event{filterEvent(f, l.now())})
}

func (l *Log) record(ctx context.Context, events []event) {
	for i := range events {
		l.write(ctx, &events[i])
	}
	if len(events) == 0 {
		return
	}
	if l.file != nil {
		l.file.append(events)
	}
	if l.webhook != nil {
		l.webhook.queue(events)
	}
}

// Run delivers events to the webhook until ctx is done, and then for a few seconds
// those that are still queued. It returns at once without a webhook.
func (l *Log) Run(ctx context.Context) {
	if l.webhook != nil {
		l.webhook.run(ctx)
	}
}

// Reopen opens the file again if it was renamed or removed.
func (l *Log) Reopen() {
	if l.file != nil {
		l.file.reopen()
	}
}

// Close closes the file. It returns an error if closing fails.
func (l *Log) Close() error {
	if l.file == nil {
		return nil
	}
	return l.file.close()
}

var levels = map[severity]slog.Level{severityInfo: slog.LevelInfo, severityWarning: slog.LevelWarn, severityCritical: slog.LevelError}

func (l *Log) write(ctx context.Context, e *event) {
	level := levels[e.Severity]
	if !l.logger.Enabled(ctx, level) {
		return
	}
	attributes := []slog.Attr{
		slog.String("event", e.Event), slog.String("severity", string(e.Severity)),
		slog.String("user", e.User), slog.Any("groups", e.Groups), slog.String("cluster", e.Cluster),
		slog.String("namespace", e.Namespace), slog.String("name", e.Name), slog.String("resource", e.Resource),
		slog.String("subresource", e.Subresource), slog.String("verb", e.Verb), slog.String("apiGroup", e.APIGroup),
		slog.String("policyName", e.PolicyName), slog.String("action", e.Action),
	}
	if e.Rule != nil {
		attributes = append(attributes, slog.Int("rule", *e.Rule))
	}
	if e.Event == eventFilter {
		attributes = append(attributes, slog.String("point", e.Point), slog.String("target", e.Target), slog.String("kind", e.Kind), slog.String("hash", e.Hash))
	}
	if e.RiskScore != nil {
		attributes = append(attributes, slog.Int("riskScore", *e.RiskScore), slog.Any("riskFactors", e.RiskFactors))
	}
	l.logger.LogAttrs(ctx, level, "audit", append(attributes, slog.String("reason", e.Reason),
		slog.Bool("overrideApplied", e.OverrideApplied), slog.String("escalation", e.Escalation))...)
}
