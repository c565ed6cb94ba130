// Package reload keeps the active revision in step with the documents: snapshot,
// translate, build, check, activate, swap. It gets changes from a source and provides
// one pointer to the active revision. It knows the order of the steps and how to handle
// their failures; it does not interpret documents.
//
// Not part of the promised API; see package writ.
//
// # Design
//
// All state that answers a request is reachable from one pointer, which a reload swaps
// at its end. So a reload takes effect completely or not at all, and a request ends on
// the revision that it began with. The alternative, changing an engine in place, would
// need a lock around every decision.
//
// If a step fails, the last good revision remains active: decisions by earlier, reviewed
// documents are better than no decisions.
package reload

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/progress"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// Translator translates a snapshot to the parts of a bundle; translator.Translator
// implements it.
type Translator interface {
	// Translate returns nil if the list has errors.
	Translate(ctx context.Context, snapshot source.Snapshot) (*translator.Result, diag.List)
	// PolicyConditions returns the conditions of gateway policies by locator, after a
	// Translate that returned nil.
	PolicyConditions() map[string][]tables.GatewayCondition
}

// Observer records the results of reloads; metrics.Metrics implements it. Its methods
// are called by one goroutine at a time.
type Observer interface {
	Reloaded(result metrics.Result, at time.Time)
	Degraded(yes bool)
	StateFails(yes bool)
	Diagnosed(errors, warnings int)
	Serves(revision string)
	Inherits(counts metrics.Inherited)
}

// Options configure a Reloader. Activate is required, and Source and Translator are
// required unless bundles are delivered; other fields may be zero.
type Options struct {
	Source     source.Source
	Translator Translator
	// Again requests that the newest bundle is delivered once more. It is called if there
	// is no Source, and must not wait for the delivery.
	Again func()
	// Build is the build information in the manifests of bundles.
	Build bundles.BuildOptions
	// Activate compiles the rules of a bundle. It must return an error for a bundle that
	// bundles.Compile rejects.
	Activate func(ctx context.Context, b *bundles.Bundle) (decision.Policies, error)
	// StateDir is the directory that stores the last good bundle, for a restart with
	// invalid documents. Empty means that bundles are not stored.
	StateDir string
	// Kept is how many revisions the state directory keeps to go back to; zero means
	// defaultKept.
	Kept int
	// Keys, if set, verify the bundles in the state directory, in the same way as
	// delivered bundles.
	Keys     *bundles.Keys
	Observer Observer
	// Attempted, if set, is called after each attempt, and after each other change of the
	// active revision or its pin, by one goroutine at a time.
	Attempted func(Attempt)
	Logger    *slog.Logger
	Now       func() time.Time
}

// Reloader keeps the newest good revision active. It is safe for concurrent use.
type Reloader struct {
	o      Options
	state  *state // nil without a state directory
	active atomic.Pointer[active]
	commit atomic.Pointer[string] // of the last active documents; nil until it is known

	mu      sync.Mutex  // held during a whole reload; protects the fields below
	good    translation // of the documents of the active revision
	refused translation // of documents that would fail again
	checked string      // Rules of the last bundle with tests that passed its check
	pinned  string      // the pinned revision; empty if none is
	newest  string      // the last revision from the source
	behind  bool        // newest differs from the pinned revision
	// readCommit is the commit of the documents that were activated last.
	readCommit string
	stale      string // the error of the sources that cannot be read, as it was logged
	highest    int64  // sequence number of what was delivered and not refused

	statusMu sync.Mutex // held to read and write status, for a short time
	status   Status
}

// active is the active revision. It is immutable.
type active struct {
	policies decision.Policies
	signer   bundles.Key // zero if signatures are not checked
}

// noRevision is the evaluation error of a server without a revision.
const noRevision decision.Unavailable = "no revision loaded"

// Current returns the policies of the active revision; without one, policies that
// deny everything. A request calls it once and keeps its revision to the end.
func (r *Reloader) Current() decision.Policies {
	if a := r.active.Load(); a != nil {
		return a.policies
	}
	return noRevision
}

// Revision returns the active revision, empty without one.
func (r *Reloader) Revision() string { return r.Current().Revision() }

// Ready reports whether a revision is active.
func (r *Reloader) Ready() bool { return r.active.Load() != nil }

// translation is the result of translating documents. Translating the same documents
// again gives the same result.
type translation struct {
	key  string
	list diag.List
	err  error
	// conditions of gateway policies; set if the documents have errors.
	conditions map[string][]tables.GatewayCondition
}

// New returns a Reloader without an active revision.
func New(o Options) *Reloader {
	if o.Again == nil {
		o.Again = func() {}
	}
	if o.Attempted == nil {
		o.Attempted = func(Attempt) {}
	}
	if o.Observer == nil {
		o.Observer = noopObserver{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Kept <= 0 {
		o.Kept = defaultKept
	}
	r := &Reloader{o: o}
	if o.StateDir != "" {
		r.state = newState(o.StateDir)
		r.state.most, r.state.keys = o.Kept, o.Keys
	}
	return r
}

// Load reloads for the first time. If the documents cannot be activated, it activates
// the last good bundle of the state directory, if there is one. It returns an error if
// the documents are not active. A server can continue after an error; Ready reports
// whether a revision is active.
func (r *Reloader) Load(ctx context.Context) error {
	r.restorePin(ctx)
	err := r.Reload(ctx)
	if err != nil && ctx.Err() == nil && !r.Ready() {
		r.restore(ctx)
	}
	return err
}

// Run watches the source and reloads until ctx is done. It returns an error if the watch
// fails.
func (r *Reloader) Run(ctx context.Context) error {
	notices := make(chan struct{}, 1)
	ended := make(chan error, 1)
	go func() {
		ended <- r.o.Source.Watch(ctx, func() {
			select {
			case notices <- struct{}{}:
			default: // a reload is pending already and will read this change
			}
		})
	}()
	for {
		select {
		case <-notices:
			_ = r.Reload(ctx) // the error is logged and part of the status
		case err := <-ended:
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("watch the documents: %w", err)
		}
	}
}

// Reload activates the current documents unless they are active. If it returns an error,
// the active revision is unchanged. Reloads run one at a time.
func (r *Reloader) Reload(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	ctx, whole := progress.Start(ctx, progress.Reload)
	began := r.o.Now()
	outcome := r.attempt(ctx)
	if outcome.err != nil && ctx.Err() != nil {
		whole.End(ctx.Err())
		return ctx.Err() // cancelled by the caller: not a failure to record
	}
	r.record(ctx, outcome, began)
	whole.End(outcome.err)
	return outcome.err
}

// outcome is the result of one attempt to reload or deliver.
type outcome struct {
	result metrics.Result
	list   diag.List
	err    error
	// bundle is the new bundle; nil if the documents have not changed.
	bundle *bundles.Bundle
	// commit is where the documents are from; empty without git.
	commit string
	// known means that the previous attempt had the same result, which was logged.
	known bool
	// stale names the sources that cannot be read, whose last documents are in use; nil if
	// all were read.
	stale error
	// unread means that the source provided no documents or bundle.
	unread bool
	// source is the Status.From of the bundle; empty means documents.
	source string
	// conditions are those of the translation.
	conditions map[string][]tables.GatewayCondition
	// snapshot is what was read, and documents what was decoded of it.
	snapshot  source.Snapshot
	documents []syntax.Document
}

// Attempt is a reading of the documents, or the delivery of a bundle.
type Attempt struct {
	// Snapshot is what was read; empty for a bundle, and if nothing was read.
	Snapshot source.Snapshot
	// Documents are those that the active revision was translated from; nil if it was not.
	Documents   []syntax.Document
	Diagnostics diag.List
	// Err is why the documents are not active; nil if they are.
	Err error
	// IsKnown states that the attempt before had the same result, IsActivated that a new
	// revision is active.
	IsKnown, IsActivated bool
}

func (r *Reloader) attempt(ctx context.Context) (out outcome) {
	defer func() {
		if cause := recover(); cause != nil {
			// A panic in a step must not affect the active revision.
			r.o.Logger.Error("reload panicked", "panic", cause, "stack", string(debug.Stack()))
			out = outcome{result: metrics.Refused, list: out.list, err: fmt.Errorf("panic while reloading: %v", cause)}
		}
	}()
	snapshot, list, err := r.snapshot(ctx)
	if err != nil {
		return outcome{result: metrics.Refused, list: list, err: err, unread: true}
	}
	key := snapshot.Key() + fmt.Sprint(list)
	switch key {
	case r.good.key:
		r.refused = translation{} // if the rejected documents return, they are reported again
		return outcome{result: metrics.Unchanged, list: r.good.list, known: true, commit: snapshot.Commit, stale: snapshot.Stale}
	case r.refused.key:
		return outcome{result: metrics.Refused, list: r.refused.list, err: r.refused.err, known: true, conditions: r.refused.conditions, stale: snapshot.Stale}
	}
	result, list, err := r.translate(ctx, snapshot, list)
	if err != nil {
		conditions := r.o.Translator.PolicyConditions()
		if isFinal(list) {
			r.refused = translation{key, list, err, conditions}
		}
		return outcome{result: metrics.Refused, list: list, err: err, conditions: conditions, stale: snapshot.Stale, snapshot: snapshot}
	}
	out = r.buildAndActivate(ctx, result, list, snapshot.Commit)
	out.commit, out.stale, out.snapshot, out.documents = snapshot.Commit, snapshot.Stale, snapshot, result.Directory.Documents()
	if out.err == nil {
		r.good, r.refused = translation{key: key, list: list}, translation{}
	}
	return out
}

func (r *Reloader) snapshot(ctx context.Context) (snapshot source.Snapshot, list diag.List, err error) {
	err = progress.Do(ctx, progress.Snapshot, func(ctx context.Context) error {
		snapshot, list, err = r.o.Source.Snapshot(ctx)
		if err == nil {
			progress.FromContext(ctx).Set(progress.Files, len(snapshot.Files))
		}
		return err
	})
	return snapshot, list, err
}

// translate adds its diagnostics to list, those of the snapshot. It returns an error if
// the documents have errors; the result is nil then.
func (r *Reloader) translate(ctx context.Context, snapshot source.Snapshot, list diag.List) (result *translator.Result, all diag.List, err error) {
	err = progress.Do(ctx, progress.Translate, func(ctx context.Context) error {
		var more diag.List
		result, more = r.o.Translator.Translate(ctx, snapshot)
		all = append(list, more...).Sorted()
		if result == nil || all.HasErrors() {
			return errorOf(all)
		}
		progress.FromContext(ctx).Set(progress.Documents, result.Documents)
		return nil
	})
	return result, all, err
}

// buildAndActivate builds, checks and activates a result, and swaps it in.
func (r *Reloader) buildAndActivate(ctx context.Context, result *translator.Result, list diag.List, commit string) outcome {
	build := r.o.Build
	if commit != "" {
		build.Commit = commit
	}
	var b *bundles.Bundle
	err := progress.Do(ctx, progress.Build, func(context.Context) (err error) {
		b, err = bundles.Build(result, build)
		return err
	})
	if err != nil {
		return outcome{result: metrics.Refused, list: list, err: err}
	}
	return r.activateIfNew(ctx, b, list)
}

// activateIfNew activates a bundle unless it is active or another one is pinned.
func (r *Reloader) activateIfNew(ctx context.Context, b *bundles.Bundle, list diag.List) outcome {
	r.newest = b.Manifest.Revision
	if r.pinned != "" {
		r.behind = r.Revision() != r.newest
		return outcome{result: metrics.Unchanged, list: list}
	}
	r.behind = false
	if r.Revision() == b.Manifest.Revision {
		return outcome{result: metrics.Unchanged, list: list, bundle: b}
	}
	if err := r.activate(ctx, b); err != nil {
		// The documents whose Rego is the reason are named.
		list = slices.Concat(list, bundles.Diagnose(b, err)).Sorted()
		return outcome{result: metrics.Refused, list: list, err: err}
	}
	return outcome{result: metrics.Activated, list: list, bundle: b}
}

func (r *Reloader) activate(ctx context.Context, b *bundles.Bundle) error {
	// Activate checks the rules that decide, but not tests.
	if rules := b.RegoHash(); b.HasTests() && rules != r.checked {
		err := progress.Do(ctx, progress.Check, func(context.Context) error { return bundles.Check(b) })
		if err != nil {
			return err
		}
		r.checked = rules
	}
	var policies decision.Policies
	err := progress.Do(ctx, progress.Activate, func(ctx context.Context) (err error) {
		policies, err = r.o.Activate(ctx, b)
		return err
	})
	if err != nil {
		return fmt.Errorf("activate revision %s: %w", b.Manifest.Revision, err)
	}
	r.active.Store(&active{policies: policies, signer: b.SignedBy})
	r.o.Observer.Inherits(inherited(tables.Of[*tables.Gateway](b.Tables)))
	return nil
}

// errorOf returns the error for documents with the diagnostics of list.
func errorOf(list diag.List) error {
	at := slices.IndexFunc(list, func(d diag.Diagnostic) bool { return d.Severity == diag.Error })
	if at < 0 {
		return errors.New("the documents gave neither a result nor an error")
	}
	n, _ := list.Count()
	first := list[at]
	if n == 1 {
		return fmt.Errorf("the documents have an error at %s: %s: %s", first.Position, first.Code, first.Message)
	}
	return fmt.Errorf("the documents have %d errors, the first at %s: %s: %s",
		n, first.Position, first.Code, first.Message)
}

// isFinal reports whether the same documents would be rejected again. That is not so if
// an external failure ended their translation.
func isFinal(list diag.List) bool {
	return list.HasErrors() && !slices.ContainsFunc(list, func(d diag.Diagnostic) bool { return d.Code == diag.Interrupted })
}

// noopObserver records nothing.
type noopObserver struct{}

func (noopObserver) Reloaded(metrics.Result, time.Time) {}
func (noopObserver) Degraded(bool)                      {}
func (noopObserver) StateFails(bool)                    {}
func (noopObserver) Diagnosed(int, int)                 {}
func (noopObserver) Inherits(metrics.Inherited)         {}
func (noopObserver) Serves(string)                      {}
