package reload

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/server/metrics"
)

// fromBundle says that the active revision was delivered as a built bundle.
const fromBundle = "bundle"

// Deliver activates a built bundle, completely or not at all. It returns an error if the
// bundle cannot be activated, or if its sequence number is lower than that of the active
// bundle or missing; Rollback returns to earlier revisions.
func (r *Reloader) Deliver(ctx context.Context, b *bundles.Bundle) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	began := r.o.Now()
	out := r.deliver(ctx, b)
	if out.err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	out.source = fromBundle
	r.record(ctx, out, began)
	return out.err
}

func (r *Reloader) deliver(ctx context.Context, b *bundles.Bundle) (out outcome) {
	defer func() {
		if cause := recover(); cause != nil {
			r.o.Logger.Error("activation panicked", "panic", cause, "stack", string(debug.Stack()))
			out = outcome{result: metrics.Refused, err: fmt.Errorf("panic while activating: %v", cause)}
		}
	}()
	if least := r.minimumSequence(); b.Manifest.Metadata.Sequence < least {
		return outcome{result: metrics.Refused, err: fmt.Errorf(
			"revision %s has sequence number %d, which is lower than %d; use a rollback to return to an earlier revision",
			b.Manifest.Revision, b.Manifest.Metadata.Sequence, least)}
	}
	if out = r.activateIfNew(ctx, &Candidate{Bundle: b, IsBuilt: true}, nil); out.err == nil {
		r.raise(b.Manifest.Metadata.Sequence)
	}
	return out
}

// Failed records that no bundle could be delivered. From then on the active revision is
// considered older than its source.
func (r *Reloader) Failed(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.record(context.Background(), outcome{result: metrics.Refused, err: err, source: fromBundle, unread: true}, r.o.Now())
}

// Confirm records that the bundle delivered last is still the newest of its source.
func (r *Reloader) Confirm() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.record(context.Background(), outcome{result: metrics.Unchanged, known: true, source: fromBundle}, r.o.Now())
}

// Restore activates the bundle stored before a restart, preferring the pinned one. A
// server that gets bundles calls it first, so that it decides before its source is
// available.
func (r *Reloader) Restore(ctx context.Context) {
	err := r.recallSequence()
	r.restorePin(ctx)
	if !r.Ready() {
		r.restore(ctx)
	}
	if err != nil {
		r.o.Logger.Error("the newest bundle before the restart is not known", "error", err)
		r.setStateError(err)
	}
}

// Signer returns the key that signed the active revision. It is zero without a revision
// or if signatures are not checked.
func (r *Reloader) Signer() bundles.Key {
	if a := r.active.Load(); a != nil {
		return a.signer
	}
	return bundles.Key{}
}
