package audit

import (
	"context"
	"log/slog"
	"time"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/metrics"
)

// Options say where events go besides the log.
type Options struct {
	// Logger hears of each event; nil means that only File and Webhook do.
	Logger *slog.Logger
	// File is where each event is appended as a line of JSON; empty: nowhere.
	File string
	// Webhook is the URL that events are posted to; empty: none.
	Webhook string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Log records what decisions have to tell. It is safe for concurrent use.
type Log struct {
	logger  *slog.Logger
	now     func() time.Time
	file    *file    // nil without a file
	webhook *webhook // nil without a webhook
}

// Open opens what the options name. A webhook is not asked: it may come later.
func Open(o Options, m *metrics.Metrics) (*Log, error) {
	l := &Log{logger: o.Logger, now: o.Now}
	if l.logger == nil {
		l.logger = slog.New(slog.DiscardHandler)
	}
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

// Record tells what the decision on r has to tell, if anything.
func (l *Log) Record(ctx context.Context, r *decision.Request, d *decision.Decision) {
	events := Events(r, d, l.now())
	for i := range events {
		l.say(ctx, &events[i])
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

// Run delivers to the webhook until ctx is done, and then what is left, for a
// while. It returns at once where there is no webhook.
func (l *Log) Run(ctx context.Context) {
	if l.webhook != nil {
		l.webhook.run(ctx)
	}
}

// Reopen opens the file again where another has taken its place, or none.
func (l *Log) Reopen() {
	if l.file != nil {
		l.file.reopen()
	}
}

// Close closes the file.
func (l *Log) Close() error {
	if l.file == nil {
		return nil
	}
	return l.file.close()
}

var levels = map[Severity]slog.Level{Info: slog.LevelInfo, Warning: slog.LevelWarn, Critical: slog.LevelError}

func (l *Log) say(ctx context.Context, e *Event) {
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
	if e.RiskScore != nil {
		attributes = append(attributes, slog.Int("riskScore", *e.RiskScore), slog.Any("riskFactors", e.RiskFactors))
	}
	l.logger.LogAttrs(ctx, level, "audit", append(attributes, slog.String("reason", e.Reason),
		slog.Bool("overrideApplied", e.OverrideApplied), slog.String("escalation", e.Escalation))...)
}
