package reload

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/internal/progress"
)

// restore activates the stored bundle if there is a valid one, and no other revision is pinned.
func (r *Reloader) restore(ctx context.Context) {
	if r.state == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pinned != "" {
		return
	}
	if _, err := os.Stat(filepath.Join(r.o.StateDir, stateFile)); errors.Is(err, fs.ErrNotExist) {
		return
	}
	ctx, whole := progress.Start(ctx, progress.Restore)
	b, err := r.activateStored(ctx, r.state.load)
	defer func() { whole.End(err) }()
	r.setStateError(err)
	if err != nil {
		r.o.Logger.Error("the stored revision cannot be activated", "error", err)
		return
	}
	r.statusMu.Lock()
	r.status.Degraded, r.status.Source = true, fromState
	r.statusMu.Unlock()
	r.state.saved = b.Manifest.Revision
	r.o.Observer.Degraded(true)
	r.o.Observer.Serves(b.Manifest.Revision)
	r.changed(true)
	r.o.Logger.Warn("serving the revision stored before the restart", "revision", b.Manifest.Revision)
}

// activateStored reads a kept bundle and activates it.
func (r *Reloader) activateStored(ctx context.Context, read func() (*bundles.Bundle, error)) (b *bundles.Bundle, err error) {
	err = progress.Do(ctx, progress.Read, func(context.Context) error {
		b, err = read()
		return err
	})
	if err == nil {
		describe(progress.FromContext(ctx), b)
		err = r.activateGuarded(ctx, b)
	}
	return b, err
}

// activateGuarded activates a stored bundle; a panic becomes an error.
func (r *Reloader) activateGuarded(ctx context.Context, b *bundles.Bundle) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic while activating the kept %s: %v", stateFile, cause)
		}
	}()
	return r.activate(ctx, &Candidate{Bundle: b, IsBuilt: true, IsKept: true})
}
