package reload

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A source of bundles hands each over once: who is released must not wait for the
// next one to be built.
func TestReleaseOfDelivered(t *testing.T) {
	dir, ctx := t.TempDir(), context.Background()
	bundled := func(o *Options) { o.StateDir, o.Source = dir, nil }
	r, _, _ := newReloader(nil, bundled)
	first, second, third := numberedBundle(t, "a", 1), numberedBundle(t, "b", 2), numberedBundle(t, "c", 3)
	check(t, r.Deliver(ctx, first))
	check(t, r.Deliver(ctx, second))

	check(t, r.Rollback(ctx, first.Manifest.Revision))
	check(t, r.Release(ctx))
	wantSays(t, r, "b")
	if s := r.Status(); s.Pinned != "" || s.Degraded || s.Source != FromBundle || s.LastError != "" {
		t.Errorf("status %+v, want released", s)
	}

	// What came while another revision was pinned is what is released to.
	check(t, r.Rollback(ctx, first.Manifest.Revision))
	check(t, r.Deliver(ctx, third))
	wantSays(t, r, "a")
	check(t, r.Release(ctx))
	wantSays(t, r, "c")

	// Over a restart there is nothing to be released to, until it comes.
	check(t, r.Rollback(ctx, first.Manifest.Revision))
	again, _, _ := newReloader(nil, bundled)
	again.Restore(ctx)
	check(t, again.Release(ctx))
	wantSays(t, again, "a")
	check(t, again.Deliver(ctx, third))
	wantSays(t, again, "c")
}

// Whoever sends an old bundle again while a revision is pinned must not have it
// served at the release.
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
