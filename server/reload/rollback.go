package reload

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/internal/progress"
	"github.com/writ-policy/writ/server/metrics"
)

// fromRollback says that the active revision was gone back to.
const fromRollback = "rollback"

// ErrNotPinned is the error of a rollback that succeeded but whose pin was not written.
var ErrNotPinned = errors.New("the revision is active, but will not be after a restart")

// Stored reads a stored revision. It returns ErrNoState without a state directory and
// ErrNotKept if the revision is not stored.
func (r *Reloader) Stored(revision string) (*bundles.Bundle, error) {
	if r.state == nil {
		return nil, ErrNoState
	}
	return r.state.open(revision)
}

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
		// A bundle that cannot be read is listed without details; a rollback to it
		// reports the error.
		if m, err := r.state.manifest(r.state.keptPath(kept[i].Revision)); err == nil {
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
	r.raise(r.minimumSequence())
	isOther := r.Revision() != revision
	if isOther {
		if err := r.activateGuarded(ctx, b); err != nil {
			return err
		}
	}
	// The pin is written after the activation: a revision that cannot be activated
	// would leave the next start without any revision.
	err = errors.Join(r.state.pin(revision), r.rolledBack(b))
	r.recordPin(b)
	describe(whole, b)
	r.setStateError(err)
	r.changed(isOther)
	r.o.Logger.Warn("rolled back", "revision", revision, "error", err)
	if err != nil {
		// The rollback remains in effect: an operator who rolls back must not have to
		// wait for the disk.
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
		r.good, r.refused = translation{}, translation{} // the next documents are activated
		r.statusMu.Lock()
		r.status.Pinned = ""
		r.statusMu.Unlock()
		r.changed(false)
		r.o.Logger.Info("pin released, newer revisions are activated again")
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

// recordPin records that b is active and pinned. It is called with r.mu held.
func (r *Reloader) recordPin(b *bundles.Bundle) {
	now := r.o.Now()
	r.pinned = b.Manifest.Revision
	r.behind = r.newest != "" && r.newest != r.pinned
	r.good, r.refused = translation{}, translation{} // newer documents are compared with it
	r.statusMu.Lock()
	r.setBundle(b, now)
	r.status.Pinned, r.status.Source = r.pinned, fromRollback
	r.status.Degraded = r.status.Degraded || r.behind
	degraded := r.status.Degraded
	r.statusMu.Unlock()
	r.o.Observer.Degraded(degraded)
	r.o.Observer.Reloaded(metrics.Activated, now)
	r.o.Observer.Serves(r.pinned)
}

// unknownPin is the pinned revision while it cannot be read which one that is.
const unknownPin = "unknown"

// restorePin activates the revision that was pinned before the restart. If it cannot be
// activated, or it cannot be read which one it is, the pin remains, no other revision is active
// until an operator rolls back or releases, and the error is logged: the newest documents were
// rolled back for a reason.
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
		b, err = r.activateStored(ctx, func() (*bundles.Bundle, error) { return r.state.open(revision) })
	}
	if err != nil {
		r.o.Logger.Error("the pinned revision cannot be activated", "revision", revision, "error", err)
		r.pinned = cmp.Or(revision, unknownPin)
		r.setStateError(err)
		r.statusMu.Lock()
		r.status.Pinned = r.pinned
		r.statusMu.Unlock()
		return
	}
	r.recordPin(b)
	r.changed(true)
	r.o.Logger.Warn("serving the pinned revision", "revision", revision)
}
