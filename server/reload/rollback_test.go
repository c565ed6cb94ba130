package reload

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/bundles"
)

// served is a reloader with a state directory that has served the contents one after
// the other, and their revisions.
func served(t *testing.T, docs *documents, o func(*Options), contents ...string) (*Reloader, []string) {
	t.Helper()
	r, _, _ := newReloader(docs, o)
	var revisions []string
	for _, content := range contents {
		docs.set(content)
		check(t, r.Reload(context.Background()))
		revisions = append(revisions, r.Revision())
		time.Sleep(2 * time.Millisecond) // files are told apart by their times
	}
	return r, revisions
}

func TestRollback(t *testing.T) {
	dir, docs := t.TempDir(), newDocuments("a")
	r, revisions := served(t, docs, func(o *Options) { o.StateDir = dir }, "a", "b", "c")
	check(t, r.Rollback(context.Background(), revisions[0]))
	wantSays(t, r, "a")
	if s := r.Status(); s.Pinned != revisions[0] || s.Source != fromRollback || s.Revision != revisions[0] {
		t.Errorf("status %+v, want pinned", s)
	}

	// Newer documents are read, and their mistakes reported, but not served.
	docs.set("d")
	check(t, r.Reload(context.Background()))
	wantSays(t, r, "a")
	if s := r.Status(); !s.Degraded {
		t.Errorf("status %+v, want degraded: the documents say something else", s)
	}
	docs.set("bad")
	if err := r.Reload(context.Background()); err == nil {
		t.Error("bad documents are not reported while a revision is pinned")
	}
	wantSays(t, r, "a")

	// The pin outlives a restart.
	docs.set("d")
	again, _, _ := newReloader(docs, func(o *Options) { o.StateDir = dir })
	check(t, again.Load(context.Background()))
	wantSays(t, again, "a")

	check(t, again.Release(context.Background()))
	wantSays(t, again, "d")
	if s := again.Status(); s.Pinned != "" || s.Degraded || s.Source != fromDocuments {
		t.Errorf("status %+v, want released", s)
	}
	docs.set("e")
	check(t, again.Reload(context.Background()))
	wantSays(t, again, "e")
}

// A rollback, a release and a restart are passed on like attempts, as they change what is
// active or pinned.
func TestChangesArePassedOn(t *testing.T) {
	dir, docs := t.TempDir(), newDocuments("a")
	var got []string
	options := func(o *Options) {
		o.StateDir = dir
		o.Attempted = func(a Attempt) { got = append(got, fmt.Sprintf("%v %v", a.IsKnown, a.IsActivated)) }
	}
	r, revisions := served(t, docs, options, "a", "b")
	check(t, r.Rollback(context.Background(), revisions[0]))
	check(t, r.Rollback(context.Background(), revisions[0])) // is active already
	check(t, r.Release(context.Background()))                // and reads the documents again
	check(t, r.Rollback(context.Background(), revisions[0]))
	again, _, _ := newReloader(docs, options)
	check(t, again.Load(context.Background())) // activates the pinned revision, and reads
	want := "false true, false true, true true, true false, true false, false true, true true, true true, false false"
	if text := strings.Join(got, ", "); text != want {
		t.Errorf("got %s, want %s", text, want)
	}
}

// Where bundles are delivered nothing is read at a release: the newest is
// asked for again, and what was gone back to serves until it is there.
func TestReleaseWhereBundlesAreDelivered(t *testing.T) {
	asked := 0
	r, _, _ := newReloader(nil, func(o *Options) {
		o.StateDir, o.Source, o.Translator = t.TempDir(), nil, nil
		o.Again = func() { asked++ }
	})
	ctx := context.Background()
	first, second := numberedBundle(t, "a", 1), numberedBundle(t, "b", 2)
	check(t, r.Deliver(ctx, first))
	check(t, r.Deliver(ctx, second))
	check(t, r.Rollback(ctx, first.Manifest.Revision))
	wantSays(t, r, "a")
	check(t, r.Deliver(ctx, second))
	wantSays(t, r, "a")
	check(t, r.Release(ctx))
	wantSays(t, r, "a")
	if asked != 1 {
		t.Errorf("asked %d times for the newest, want once", asked)
	}
	check(t, r.Deliver(ctx, second))
	wantSays(t, r, "b")
	if s := r.Status(); s.Pinned != "" || s.Source != fromBundle || s.Degraded {
		t.Errorf("status %+v, want released", s)
	}
}

// A pin that cannot be restored leaves a server without a revision: neither the newest documents nor
// the last good bundle may be served, because they were rolled back. Operators can do both.
func TestPinThatCannotBeRestored(t *testing.T) {
	ctx := context.Background()
	for name, spoil := range map[string]func(dir, revision string){
		"its bundle is damaged": func(dir, revision string) { damage(t, filepath.Join(dir, keptFolder, revision+keptSuffix)) },
		"its file is torn": func(dir, _ string) {
			check(t, os.WriteFile(filepath.Join(dir, pinFile), []byte("0123"), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, docs := t.TempDir(), newDocuments("a")
			r, revisions := served(t, docs, func(o *Options) { o.StateDir = dir }, "a", "b")
			check(t, r.Rollback(ctx, revisions[0]))
			spoil(dir, revisions[0])
			wantNone := func(r *Reloader) {
				t.Helper()
				if s := r.Status(); r.Ready() || s.Ready || s.Pinned == "" || s.StateError == "" {
					t.Errorf("got %+v, want no revision, a pin, and why", s)
				}
			}
			documents, _, _ := newReloader(docs, func(o *Options) { o.StateDir = dir })
			check(t, documents.Load(ctx))
			wantNone(documents)
			docs.set("bad")
			mistaken, _, _ := newReloader(docs, func(o *Options) { o.StateDir = dir })
			_ = mistaken.Load(ctx)
			wantNone(mistaken)
			bundled, _, _ := newReloader(nil, func(o *Options) { o.StateDir, o.Source, o.Translator = dir, nil, nil })
			bundled.Restore(ctx)
			wantNone(bundled)

			docs.set("b")
			check(t, documents.Rollback(ctx, revisions[1]))
			wantSays(t, documents, "b")
		})
	}
}

func TestRollbackRefused(t *testing.T) {
	dir, docs := t.TempDir(), newDocuments("a")
	r, revisions := served(t, docs, func(o *Options) { o.StateDir = dir }, "a", "b")
	damage(t, filepath.Join(dir, keptFolder, revisions[0]+keptSuffix))
	for name, row := range map[string]struct {
		revision string
		want     string
	}{
		"unknown":        {strings.Repeat("0", 64), ErrNotKept.Error()},
		"no revision":    {"../../etc/passwd", ErrNotKept.Error()},
		"a damaged file": {revisions[0], "revision " + revisions[0]},
	} {
		t.Run(name, func(t *testing.T) {
			err := r.Rollback(context.Background(), row.revision)
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %q", err, row.want)
			}
			wantSays(t, r, "b")
			if s := r.Status(); s.Pinned != "" {
				t.Errorf("pinned %q", s.Pinned)
			}
		})
	}
	without, _, _ := newReloader(docs, nil)
	if err := without.Rollback(context.Background(), revisions[1]); !errors.Is(err, ErrNoState) {
		t.Errorf("without a state directory: %v", err)
	}
}

// damage changes one byte of a file, without writing to what else has its content.
func damage(t *testing.T, path string) {
	t.Helper()
	content, err := os.ReadFile(path)
	check(t, err)
	content[len(content)/2] ^= 1
	check(t, os.Remove(path))
	check(t, os.WriteFile(path, content, 0o600))
}

func TestRevisions(t *testing.T) {
	dir, docs := t.TempDir(), newDocuments("a")
	r, revisions := served(t, docs, func(o *Options) { o.StateDir, o.Kept = dir, 3 }, "a", "b", "c", "d")
	check(t, r.Rollback(context.Background(), revisions[2]))
	kept, err := r.Revisions()
	check(t, err)
	var got []string
	for _, k := range kept {
		text := k.Revision
		if k.Active {
			text += " active"
		}
		if k.Pinned {
			text += " pinned"
		}
		got = append(got, text)
	}
	want := []string{revisions[3], revisions[2] + " active pinned", revisions[1]}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("kept %q, want %q", got, want)
	}
}

// numberedBundle is a bundle that says content, with a sequence number.
func numberedBundle(t *testing.T, content string, sequence int64) *bundles.Bundle {
	t.Helper()
	docs := newDocuments(content)
	dir := t.TempDir()
	r, _, _ := newReloader(docs, func(o *Options) { o.StateDir, o.Build.Sequence = dir, sequence })
	check(t, r.Load(context.Background()))
	f, err := os.Open(filepath.Join(dir, stateFile))
	check(t, err)
	defer f.Close()
	b, err := bundles.Read(f)
	check(t, err)
	return b
}

func TestDeliver(t *testing.T) {
	r, _, _ := newReloader(newDocuments("x"), func(o *Options) { o.StateDir = t.TempDir() })
	ctx := context.Background()
	check(t, r.Deliver(ctx, numberedBundle(t, "a", 3)))
	wantSays(t, r, "a")
	check(t, r.Deliver(ctx, numberedBundle(t, "b", 4)))
	wantSays(t, r, "b")
	for _, older := range []int64{3, 0} {
		if err := r.Deliver(ctx, numberedBundle(t, "a", older)); err == nil || !strings.Contains(err.Error(), "rollback") {
			t.Errorf("sequence %d after 4: got %v, want refused", older, err)
		}
		wantSays(t, r, "b")
	}
	if s := r.Status(); !s.Degraded || s.Source != fromBundle {
		t.Errorf("status %+v, want degraded", s)
	}
	if n := r.Current().Loaded().Sequence; n != 4 {
		t.Errorf("sequence %d", n)
	}
	r.Confirm()
	if s := r.Status(); s.Degraded || s.LastError != "" || r.Behind() != 0 {
		t.Errorf("status %+v, want what is served to be the newest", s)
	}
	first := numberedBundle(t, "a", 3).Manifest.Revision
	check(t, r.Rollback(ctx, first))
	wantSays(t, r, "a")
	for range 2 {
		if s := r.Status(); !s.Degraded || s.Pinned != first {
			t.Errorf("status %+v, want pinned and degraded", s)
		}
		r.Confirm()
	}
	check(t, r.Deliver(ctx, numberedBundle(t, "c", 5)))
	wantSays(t, r, "a")

	// Who delivers bundles delivers again after a release.
	r.o.Source = nil
	check(t, r.Release(ctx))
	check(t, r.Deliver(ctx, numberedBundle(t, "c", 5)))
	wantSays(t, r, "c")
}
