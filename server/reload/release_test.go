package reload

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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

// A restart does not forget the newest bundle that was delivered, so that the source cannot
// return to an older one: whether or not an earlier revision is pinned, and also if the newest was
// delivered while one was.
func TestNewestBundleOutlivesARestart(t *testing.T) {
	ctx := context.Background()
	one, two, three := numberedBundle(t, "a", 1), numberedBundle(t, "b", 2), numberedBundle(t, "c", 3)
	other := numberedBundle(t, "another", 1)
	for name, row := range map[string]struct {
		before, after func(*Reloader) // the restart
		newest        int64
	}{
		"pinned": {before: func(r *Reloader) { check(t, r.Rollback(ctx, one.Manifest.Revision)) }, newest: 2},
		"delivered while one is pinned": {before: func(r *Reloader) {
			check(t, r.Rollback(ctx, one.Manifest.Revision))
			check(t, r.Deliver(ctx, three))
		}, newest: 3},
		"pinned after the restart": {after: func(r *Reloader) { check(t, r.Rollback(ctx, one.Manifest.Revision)) }, newest: 2},
		"by an earlier version": {before: func(r *Reloader) {
			check(t, r.Rollback(ctx, one.Manifest.Revision))
			check(t, os.Remove(filepath.Join(r.o.StateDir, sequenceFile)))
		}, newest: 2},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			bundled := func(o *Options) { o.StateDir, o.Source, o.Translator = dir, nil, nil }
			r, _, _ := newReloader(nil, bundled)
			check(t, r.Deliver(ctx, one))
			check(t, r.Deliver(ctx, two))
			if row.before != nil {
				row.before(r)
			}
			again, _, _ := newReloader(nil, bundled)
			again.Restore(ctx)
			if row.after != nil {
				row.after(again)
			}
			wantSays(t, again, "a")
			want := fmt.Sprintf("lower than %d", row.newest)
			if err := again.Deliver(ctx, other); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("an older bundle beside the pin: got %v, want %q", err, want)
			}
			check(t, again.Release(ctx))
			if err := again.Deliver(ctx, other); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("an older bundle after the release: got %v, want %q", err, want)
			}
			check(t, again.Deliver(ctx, three))
			wantSays(t, again, "c")
		})
	}
}

// A number that cannot be read is an error of the state directory, and the kept bundle has one.
func TestDamagedSequence(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	bundled := func(o *Options) { o.StateDir, o.Source, o.Translator = dir, nil, nil }
	r, _, _ := newReloader(nil, bundled)
	check(t, r.Deliver(ctx, numberedBundle(t, "b", 2)))
	check(t, os.WriteFile(filepath.Join(dir, sequenceFile), []byte("-7\n"), 0o600))
	again, _, _ := newReloader(nil, bundled)
	again.Restore(ctx)
	if s := again.Status(); !strings.Contains(s.StateError, "sequence") {
		t.Errorf("got %q, want the error of the state directory", s.StateError)
	}
	if err := again.Deliver(ctx, numberedBundle(t, "a", 1)); err == nil {
		t.Error("an older bundle is accepted")
	}
}
