package reload

import (
	"context"
	"errors"
	"fmt"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/translator/progress"
)

// fromRollback says that the active revision was gone back to.
const fromRollback = "rollback"

// ErrNotPinned is the error of a rollback that succeeded but whose pin was not written.
var ErrNotPinned = errors.New("the revision is served, and will not be after a restart")

// Revisions returns the stored revisions, newest first. It returns ErrNoState without a
// state directory.
func (r *Reloader) Revisions() ([]Kept, error) {
	if r.state == nil {
		return nil, ErrNoState
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	kept, err := r.state.keptNames()
	if err != nil {
		return nil, err
	}
	active := r.Revision()
	for i := range kept {
		kept[i].Active = kept[i].Revision == active
		kept[i].Pinned = kept[i].Revision == r.pinned
		// What cannot be read is listed without: to go back to it will say why.
		if m, err := r.state.manifest(kept[i].Revision); err == nil {
			kept[i].Commit, kept[i].Sequence = m.Metadata.Commit, m.Metadata.Sequence
		}
	}
	return kept, nil
}

// Rollback activates a stored revision and pins it: newer documents are read and their
// diagnostics reported, but they are not activated until Release. The pin survives a
// restart. It returns ErrNoState without a state directory, ErrNotKept if the revision
// is not stored, ErrNotPinned if the revision is active but the pin cannot be written,
// and another error if the revision cannot be activated, which changes nothing.
func (r *Reloader) Rollback(ctx context.Context, revision string) (err error) {
	if r.state == nil {
		return ErrNoState
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	ctx, whole := progress.Start(ctx, progress.Rollback)
	defer func() { whole.End(err) }()
	b, err := r.state.open(revision)
	if err != nil {
		return err
	}
	if r.Revision() != revision {
		if err := r.revive(ctx, b); err != nil {
			return err
		}
	}
	// Only what is served is pinned: a pin that does not activate would be found at
	// the next start, when there is nothing else to serve.
	err = errors.Join(r.state.pin(revision), r.rolledBack(b))
	r.pins(b)
	describe(whole, b)
	r.stateFails(err)
	r.o.Logger.Warn("rolled back", "revision", revision, "error", err)
	if err != nil {
		// Who goes back has a reason not to wait for the disk.
		return fmt.Errorf("revision %s: %w", revision, errors.Join(ErrNotPinned, err))
	}
	return nil
}

// Release removes the pin, and reads and activates the newest documents. If bundles are
// served, the pinned one stays active until the newest is delivered. It returns
// ErrNoState without a state directory, and an error if the pin cannot be removed or the
// documents cannot be activated.
func (r *Reloader) Release(ctx context.Context) error {
	if r.state == nil {
		return ErrNoState
	}
	r.mu.Lock()
	err := r.state.pin("")
	if err == nil {
		r.pinned, r.behind = "", false
		r.good, r.refused = reading{}, reading{} // what is read next is served
		r.statusMu.Lock()
		r.status.Pinned = ""
		r.statusMu.Unlock()
		r.o.Logger.Info("released, the newest is served again")
	}
	r.mu.Unlock()
	switch {
	case err != nil:
		return err
	case r.o.Source == nil:
		r.o.Again()
		return nil
	}
	return r.Reload(ctx)
}

// pins writes down that a revision is pinned and served. r.mu is held.
func (r *Reloader) pins(b *bundles.Bundle) {
	now := r.o.Now()
	r.pinned = b.Manifest.Revision
	r.behind = r.newest != "" && r.newest != r.pinned
	r.good, r.refused = reading{}, reading{} // the documents are compared with it
	r.statusMu.Lock()
	r.shows(b, now)
	r.status.Pinned, r.status.Source, r.status.Ready = r.pinned, fromRollback, true
	r.status.Degraded = r.status.Degraded || r.behind
	degraded := r.status.Degraded
	r.statusMu.Unlock()
	r.o.Observer.Degraded(degraded)
	r.o.Observer.Reloaded(metrics.Activated, now)
	r.o.Observer.Serves(r.pinned)
}

// restorePin serves what was pinned before the restart. What cannot be served is
// said, and not taken for "nothing is pinned": the newest documents were wrong once.
func (r *Reloader) restorePin(ctx context.Context) {
	if r.state == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	revision, err := r.state.pinned()
	if err == nil && revision == "" {
		return
	}
	ctx, whole := progress.Start(ctx, progress.Restore)
	defer func() { whole.End(err) }()
	var b *bundles.Bundle
	if err == nil {
		b, err = r.reviveFrom(ctx, func() (*bundles.Bundle, error) { return r.state.open(revision) })
	}
	if err != nil {
		r.o.Logger.Error("what is pinned cannot be served", "revision", revision, "error", err)
		r.pinned = revision
		r.stateFails(err)
		r.statusMu.Lock()
		r.status.Pinned = revision
		r.statusMu.Unlock()
		return
	}
	r.pins(b)
	r.o.Logger.Warn("serving the pinned revision", "revision", revision)
}
