// Package reload keeps the served revision in step with the documents: snapshot,
// translate, build, check, activate, swap. Changes come in from a source, one
// pointer to the active revision is what goes out; the package knows the order
// and what to do when a step fails, and nothing of what documents mean.
//
// Not part of the promised API; see package writ.
//
// # Design
//
// Everything that answers a request hangs off one pointer, which is swapped when
// all else is done. So a reload happens wholly or not at all, and a request ends
// on the revision it began with. The alternative, changing an engine in place,
// would need a lock around every decision and could be seen half done.
//
// What fails keeps the last good revision: answers from documents that were
// reviewed are better than none, and both are better than guesses.
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
	"github.com/writ-policy/writ/translator/tables"
)

// Source is where documents come from; source.Directory is one.
type Source interface {
	Snapshot(ctx context.Context) (source.Snapshot, diag.List, error)
	Watch(ctx context.Context, notify func()) error
}

// Translator turns a snapshot into the parts of a bundle; translator.Translator is
// one.
type Translator interface {
	// Translate returns nil if the list has errors.
	Translate(ctx context.Context, snapshot source.Snapshot) (*translator.Result, diag.List)
	// PolicyConditions are, by locator, the conditions of gateway policies after a
	// Translate that returned nil.
	PolicyConditions() map[string][]tables.GatewayCondition
}

// Observer records how reloads end; metrics.Metrics is one. Its methods are called
// by one goroutine at a time.
type Observer interface {
	Reloaded(result metrics.Result, at time.Time)
	Degraded(yes bool)
	StateFails(yes bool)
	Diagnosed(errors, warnings int)
	Serves(revision string)
	Inherits(counts metrics.Inherited)
}

// Options are the steps of a reload and what goes around them. Activate is needed,
// and Source and Translator where documents are served; the rest may be zero.
type Options struct {
	Source     Source
	Translator Translator
	// Again makes the newest bundle be delivered once more, though it was before. It is
	// called where there is no Source, and must not wait for the delivery.
	Again func()
	// Build is what bundles say of themselves.
	Build bundles.BuildOptions
	// Activate compiles a bundle's rules and refuses what bundles.Compile refuses.
	Activate func(ctx context.Context, b *bundles.Bundle) (decision.Policies, error)
	// StateDir is where the last good bundle is kept for a restart with broken
	// documents. Empty: nowhere.
	StateDir string
	// Kept is how many revisions the state directory keeps to go back to; zero means
	// defaultKept.
	Kept int
	// Keys, if set, must have signed what the state directory holds, as they must
	// what is delivered.
	Keys     *bundles.Keys
	Observer Observer
	Logger   *slog.Logger
	Now      func() time.Time
}

// Reloader serves the newest good revision. It is safe for concurrent use.
type Reloader struct {
	o      Options
	state  *state // nil without a state directory
	active atomic.Pointer[active]
	commit atomic.Pointer[string] // of the last active documents; nil until it is known

	mu      sync.Mutex // held through a whole reload
	good    reading    // the documents that are served
	refused reading    // documents that will fail again
	checked string     // Rules of the last bundle with tests that passed its check
	pinned  string     // the revision that stays; empty: the newest is served
	newest  string     // revision that came last from the source
	behind  bool       // that is another one than what is pinned
	// readCommit is the commit of the documents that were activated last.
	readCommit string
	highest    int64 // sequence number of what was delivered and not refused

	statusMu sync.Mutex // held to read and write status, never longer
	status   Status
}

// active is the revision in service. It is never changed.
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

// Revision is the active revision, empty without one.
func (r *Reloader) Revision() string { return r.Current().Revision() }

// Ready reports whether a revision is active.
func (r *Reloader) Ready() bool { return r.active.Load() != nil }

// reading is the result of translating documents. Translating the same documents again
// gives the same result.
type reading struct {
	key  string
	list diag.List
	err  error
	// conditions are of gateway policies where the documents have errors.
	conditions map[string][]tables.GatewayCondition
}

// New returns a Reloader that serves nothing yet.
func New(o Options) *Reloader {
	if o.Again == nil {
		o.Again = func() {}
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

// Load reloads for the first time. Where the documents cannot be served, the
// last good bundle of the state directory is, if there is one. The error says
// why the documents are not what is served; a server may go on in any case, it
// is ready when Ready says so.
func (r *Reloader) Load(ctx context.Context) error {
	r.restorePin(ctx)
	err := r.Reload(ctx)
	if err != nil && ctx.Err() == nil && !r.Ready() {
		r.restore(ctx)
	}
	return err
}

// Run watches the source and reloads until ctx is done. The error is of a watch
// that ended by itself.
func (r *Reloader) Run(ctx context.Context) error {
	notices := make(chan struct{}, 1)
	ended := make(chan error, 1)
	go func() {
		ended <- r.o.Source.Watch(ctx, func() {
			select {
			case notices <- struct{}{}:
			default: // one is waiting already; what it will read includes this
			}
		})
	}()
	for {
		select {
		case <-notices:
			_ = r.Reload(ctx) // it has logged its error and shows it in the status
		case err := <-ended:
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("watch the documents: %w", err)
		}
	}
}

// Reload brings the documents as they are now into service, if they are not yet.
// After an error the revision served is the one before. Reloads run one at a
// time.
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
	r.conclude(ctx, outcome, began)
	whole.End(outcome.err)
	return outcome.err
}

// outcome is how one attempt ended.
type outcome struct {
	result metrics.Result
	list   diag.List
	err    error
	// bundle is what was built; nil where the documents were known already.
	bundle *bundles.Bundle
	// commit is where the documents are from; empty without git.
	commit string
	// known says that this has been said before: no need to log it again.
	known bool
	// unread says that there was nothing to refuse: the source gave nothing.
	unread bool
	// source is where what was brought came from; empty is documents.
	source string
	// conditions are as in a reading.
	conditions map[string][]tables.GatewayCondition
}

func (r *Reloader) attempt(ctx context.Context) (out outcome) {
	defer func() {
		if cause := recover(); cause != nil {
			// A bug in a step must not take the served revision with it.
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
		r.refused = reading{} // if the rejected documents return, they are reported again
		return outcome{result: metrics.Unchanged, list: r.good.list, known: true, commit: snapshot.Commit}
	case r.refused.key:
		return outcome{result: metrics.Refused, list: r.refused.list, err: r.refused.err, known: true, conditions: r.refused.conditions}
	}
	result, list, err := r.translate(ctx, snapshot, list)
	if err != nil {
		conditions := r.o.Translator.PolicyConditions()
		if final(list) {
			r.refused = reading{key, list, err, conditions}
		}
		return outcome{result: metrics.Refused, list: list, err: err, conditions: conditions}
	}
	out = r.buildAndActivate(ctx, result, list, snapshot.Commit)
	out.commit = snapshot.Commit
	if out.err == nil {
		r.good, r.refused = reading{key: key, list: list}, reading{}
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

// translate adds to what the snapshot's list has already. With an error, which is of
// the documents, there is no result.
func (r *Reloader) translate(ctx context.Context, snapshot source.Snapshot, list diag.List) (result *translator.Result, all diag.List, err error) {
	err = progress.Do(ctx, progress.Translate, func(ctx context.Context) error {
		var more diag.List
		result, more = r.o.Translator.Translate(ctx, snapshot)
		all = append(list, more...).Sorted()
		if result == nil || all.HasErrors() {
			return refuse(all)
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
		return outcome{result: metrics.Refused, list: list, err: err}
	}
	return outcome{result: metrics.Activated, list: list, bundle: b}
}

func (r *Reloader) activate(ctx context.Context, b *bundles.Bundle) error {
	// What decides is checked when it is compiled to be activated; tests are not.
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

// refuse is the error of documents that do not compile.
func refuse(list diag.List) error {
	at := slices.IndexFunc(list, func(d diag.Diagnostic) bool { return d.Severity == diag.Error })
	if at < 0 {
		return errors.New("the documents gave neither a result nor an error")
	}
	n, _ := list.Count()
	first := list[at]
	return fmt.Errorf("the documents have %d errors, the first at %s:%d:%d: %s: %s",
		n, first.File, first.Line, first.Column, first.Code, first.Message)
}

// final reports whether the same documents would be refused again. Not where it
// was the world that ended their translation.
func final(list diag.List) bool {
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
