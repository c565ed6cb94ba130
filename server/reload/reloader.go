package reload

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/internal/limits"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// Reloader keeps the newest good revision active. It is safe for concurrent use.
type Reloader struct {
	o      Options
	state  *state // nil without a state directory
	active atomic.Pointer[active]
	commit atomic.Pointer[string] // of the last active documents; nil until it is known

	mu      sync.Mutex  // held during a whole reload; protects the fields below
	good    translation // of the documents of the active revision
	refused translation // of documents that would fail again
	pinned  string      // the pinned revision; empty if none is
	newest  string      // the last revision from the source
	behind  bool        // newest differs from the pinned revision
	// readCommit is the commit of the documents that were activated last.
	readCommit string
	stale      limits.Failures // of the sources that cannot be read
	failures   limits.Failures // of attempts
	highest    int64           // sequence number of what was delivered and not refused

	statusMu sync.Mutex // held to read and write what follows, for a short time
	status   Status
	swapped  chan struct{} // closed at the next activation; nil until Changed is called
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
func (r *Reloader) Revision() string { return r.Current().Loaded().Revision }

// Changed returns what is closed when another revision is active than Current returned after
// the call.
func (r *Reloader) Changed() <-chan struct{} {
	r.statusMu.Lock()
	defer r.statusMu.Unlock()
	if r.swapped == nil {
		r.swapped = make(chan struct{})
	}
	return r.swapped
}

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
	o.Observer = cmp.Or[Observer](o.Observer, noopObserver{})
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Kept = cmp.Or(max(o.Kept, 0), defaultKept)
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
	// Documents are those that were decoded, also if they have errors.
	Documents   []syntax.Document
	Diagnostics diag.List
	// Err is why the documents are not active; nil if they are.
	Err error
	// IsRead states that documents were read or a bundle was delivered, IsKnown that the attempt
	// before had the same result, IsActivated that a new revision is active.
	IsRead, IsKnown, IsActivated bool
}
