// Package decisionlog records decisions in the format of OPA's decision logs: in a file,
// on the console, and at a server. Decisions come in; OPA's plugin masks, drops, buffers
// and uploads them. The package does not know protocols.
//
// # Design
//
// A decision is queued as JSON and logged by one goroutine: masking evaluates Rego, which
// a request must not wait for. The queue is bounded in bytes; a decision that finds no room
// is lost and counted. Rules for masking and dropping are those of a file beside the
// configuration, never of the bundle: who writes policies must not decide what is logged.
package decisionlog

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/open-policy-agent/opa/v1/plugins"
	"github.com/open-policy-agent/opa/v1/plugins/logs"
	"github.com/open-policy-agent/opa/v1/server"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/tracing"
	"github.com/open-policy-agent/opa/v1/util"

	"github.com/writ-policy/writ/internal/limits"
	"github.com/writ-policy/writ/internal/progress"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/metrics"
)

// Options configure where decisions are logged. One of File and Config is required.
type Options struct {
	// File is the path of a file to which decisions are appended as JSON lines.
	File string
	// Config is the path of an OPA configuration with services, decision_logs and labels.
	// A file of that name that ends in .rego has the package system.log.
	Config  string
	Logger  *slog.Logger
	Metrics *metrics.Metrics
	// Observers receive the requests of uploads; nil is allowed.
	Observers []progress.Observer
}

// Bounds of the queue.
const (
	maxQueued      = 1 << 16  // decisions
	maxQueuedBytes = 64 << 20 // of their JSON
	lastUpload     = 5 * time.Second
)

// bundleName is the name of the bundle in events.
const bundleName = "writ"

// Log logs decisions. It is safe for concurrent use.
type Log struct {
	log     *slog.Logger
	metrics *metrics.Metrics
	queue   chan decision.Event
	room    *limits.Budget
	manager *plugins.Manager
	plugin  *logs.Plugin
	file    *file // nil without a file
	failed  int   // decisions since one was logged; of the goroutine of Run
}

// Open opens the log. It returns an error if a file cannot be read or opened, or if the
// configuration or the Rego is invalid. It does not connect to a server.
func Open(o Options) (*Log, error) {
	config, rules, err := read(o)
	if err != nil {
		return nil, fmt.Errorf("decision log: %w", err)
	}
	l := &Log{
		log: o.Logger, metrics: o.Metrics,
		queue: make(chan decision.Event, maxQueued), room: limits.NewBudget(maxQueuedBytes),
	}
	if err := l.setup(o, config, rules); err != nil {
		return nil, fmt.Errorf("decision log: %w", err)
	}
	return l, nil
}

// setup makes OPA's plugin.
func (l *Log) setup(o Options, config []byte, rules map[string]string) (err error) {
	ctx := context.Background()
	logger := &logger{log: o.Logger, lost: func() { l.metrics.DecisionLost(metrics.LostByPolicy, 1) }}
	store := inmem.New()
	err = storage.Txn(ctx, store, storage.WriteParams, func(txn storage.Transaction) error {
		for path, module := range rules {
			if err := store.UpsertPolicy(ctx, txn, path, []byte(module)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	l.manager, err = plugins.New(config, "writ", store, plugins.Logger(logger), plugins.ConsoleLogger(logger),
		plugins.WithDistributedTracingOpts(tracing.NewOptions(o.Observers)))
	if err != nil {
		return err
	}
	if err := l.manager.Init(ctx); err != nil {
		return err
	}
	var registered []string
	if o.File != "" {
		if l.file, err = openFile(o.File); err != nil {
			return err
		}
		l.manager.Register(filePlugin, l.file)
		registered = append(registered, filePlugin)
	}
	parsed, err := logs.NewConfigBuilder().WithBytes(l.manager.Config.DecisionLogs).WithServices(l.manager.Services()).
		WithPlugins(registered).WithLogger(logger).Parse()
	if err != nil {
		return err
	}
	if parsed == nil {
		return errors.New("decision_logs has neither service nor console")
	}
	l.plugin = logs.New(parsed, l.manager).WithMetrics(counting{l.metrics})
	l.manager.Register(logs.Name, l.plugin)
	return l.manager.Start(ctx)
}

// Log queues a decision, or counts it as lost if the queue is full. It keeps the JSON.
func (l *Log) Log(e decision.Event) {
	size := int64(len(e.Input) + len(e.Result))
	if !l.room.Acquire(size) {
		l.metrics.DecisionLost(metrics.LostByQueue, 1)
		return
	}
	select {
	case l.queue <- e:
	default:
		l.room.Release(size)
		l.metrics.DecisionLost(metrics.LostByQueue, 1)
	}
}

// Run logs the decisions that are queued until ctx is done, and then those that still
// are. It makes a last upload.
func (l *Log) Run(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case e := <-l.queue:
			l.write(&e)
		case <-ctx.Done():
		}
	}
	for end := time.Now().Add(lastUpload); len(l.queue) > 0; {
		e := <-l.queue
		if time.Now().After(end) { // nothing reads the log
			l.metrics.DecisionLost(metrics.LostBySink, 1)
			continue
		}
		l.write(&e)
	}
	last, cancel := context.WithTimeout(context.Background(), lastUpload)
	defer cancel()
	l.manager.Stop(last)
	if l.file != nil {
		l.file.close()
	}
}

// Reopen opens the file again if it was renamed or removed.
func (l *Log) Reopen() {
	if l.file != nil {
		l.file.reopen()
	}
}

// write passes a decision to OPA's plugin.
func (l *Log) write(e *decision.Event) {
	defer l.room.Release(int64(len(e.Input) + len(e.Result)))
	err := l.writeEvent(e)
	switch {
	case err != nil:
		l.metrics.DecisionLost(metrics.LostBySink, 1)
		if l.failed++; l.failed == 1 { // a full disk must not fill the log of the server as well
			l.log.Error("decisions are not logged", "error", err)
		}
	case l.failed > 0:
		l.log.Info("decisions are logged again", "lost", l.failed)
		l.failed = 0
	}
}

func (l *Log) writeEvent(e *decision.Event) error {
	var input, result any
	if err := util.UnmarshalJSON(e.Input, &input); err != nil {
		return err
	}
	results := &result
	if len(e.Result) == 0 {
		results = nil
	} else if err := util.UnmarshalJSON(e.Result, &result); err != nil {
		return err
	}
	custom := map[string]any{"revision": e.Revision, "sources": sourcesOf(result)}
	maps.Copy(custom, e.Custom)
	if e.ID == "" {
		e.ID = uuid.NewString()
	}
	ctx := context.Background()
	store := l.manager.Store
	txn, err := store.NewTransaction(ctx)
	if err != nil {
		return err
	}
	defer store.Abort(ctx, txn)
	return l.plugin.Log(ctx, &server.Info{
		Txn: txn, DecisionID: e.ID, RemoteAddr: e.RequestedBy, Timestamp: e.Time,
		TraceID: e.Span.TraceID, SpanID: e.Span.SpanID,
		Bundles: map[string]server.BundleInfo{bundleName: {Revision: e.Revision}},
		Path:    cmp.Or(e.Path, "writ/"+e.Point+"/decision"),
		Input:   &input, Results: results,
		Custom: custom,
	})
}

// sourcesOf returns the places of what a decision lists: of each rule that of its binding,
// if it has one, and then its own.
func sourcesOf(result any) []any {
	sources := []any{}
	object, _ := result.(map[string]any)
	matched, _ := object["matched"].([]any)
	if len(matched) == 0 {
		matched, _ = object["decidedBy"].([]any) // of the gateway point
	}
	for _, entry := range matched {
		rule, _ := entry.(map[string]any)
		binding, _ := rule["binding"].(map[string]any)
		for _, document := range []map[string]any{binding, rule} {
			if source, ok := document["source"].(string); ok && source != "" {
				sources = append(sources, source)
			}
		}
	}
	return sources
}

// logger is OPA's logger over that of the server. A decision that OPA cannot
// mask is not logged, and counts as lost.
type logger struct {
	log    *slog.Logger
	lost   func()
	fields map[string]any
}

func (l *logger) write(level slog.Level, format string, a ...any) {
	if !l.log.Enabled(context.Background(), level) {
		return
	}
	var attributes []slog.Attr
	for name, value := range l.fields {
		attributes = append(attributes, slog.Any(name, text(value)))
	}
	l.log.LogAttrs(context.Background(), level, strings.TrimSuffix(fmt.Sprintf(format, a...), "."), attributes...)
}

// text returns a field of an event as JSON.
func text(value any) any {
	switch value.(type) {
	case string, bool, int, int64:
		return value
	}
	out, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(out)
}
