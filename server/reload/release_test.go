package reload

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// An old bundle that is sent again while a revision is pinned is not served at the
// release.
func TestReleaseToNoOlder(t *testing.T) {
	ctx := context.Background()
	r, _, _ := newReloader(nil, func(o *Options) { o.StateDir, o.Source = t.TempDir(), nil })
	first := numberedBundle(t, "a", 1)
	for _, b := range []string{"a", "b", "c"} {
		check(t, r.Deliver(ctx, numberedBundle(t, b, int64(b[0]-'a'+1))))
	}
	check(t, r.Rollback(ctx, first.Manifest.Revision))
	if err := r.Deliver(ctx, numberedBundle(t, "b", 2)); err == nil {
		t.Error("an older bundle than was served before is taken while a revision is pinned")
	}
	check(t, r.Release(ctx))
	if err := r.Deliver(ctx, numberedBundle(t, "b", 2)); err == nil {
		t.Error("an older bundle than was served before is taken after a release")
	}
	check(t, r.Deliver(ctx, numberedBundle(t, "c", 3)))
	wantSays(t, r, "c")
}

// A revision that is served says so, also where the pin could not be written.
func TestRollbackWithoutPin(t *testing.T) {
	dir, docs, ctx := t.TempDir(), newDocuments("a"), context.Background()
	r, revisions := served(t, docs, func(o *Options) { o.StateDir = dir }, "a", "b")
	check(t, os.MkdirAll(filepath.Join(dir, pinFile+".tmp", "x"), 0o700)) // no file can be there
	if err := r.Rollback(ctx, revisions[0]); !errors.Is(err, ErrNotPinned) {
		t.Fatalf("got %v, want ErrNotPinned", err)
	}
	_ = r.Reload(ctx)
	wantSays(t, r, "a")
	if s := r.Status(); s.Revision != revisions[0] || s.Pinned != revisions[0] || !s.Degraded {
		t.Errorf("status %+v, want what is served", s)
	}
}
