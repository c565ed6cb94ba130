package reload

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func wantCommit(t *testing.T, r *Reloader, want string) {
	t.Helper()
	got, err := r.LastCommit()
	check(t, err)
	wantText(t, "last commit", got, want)
}

// The last commit is that of active documents only, and survives a restart.
func TestLastCommit(t *testing.T) {
	dir, docs, ctx := t.TempDir(), newDocuments("a"), context.Background()
	inState := func(o *Options) { o.StateDir = dir }
	r, _, _ := newReloader(docs, inState)
	wantCommit(t, r, "")
	first := docs.commit("1", "a/1")
	check(t, r.Reload(ctx))
	wantCommit(t, r, first)
	docs.commit("2", "bad")
	if r.Reload(ctx) == nil {
		t.Error("bad documents: got no error")
	}
	wantCommit(t, r, first)
	third := docs.commit("3", "a/2") // with the same meaning
	check(t, r.Reload(ctx))
	wantCommit(t, r, third)
	fourth := docs.commit("4", "a/2") // with the same content
	check(t, r.Reload(ctx))
	wantCommit(t, r, fourth)
	again, _, _ := newReloader(docs, inState)
	wantCommit(t, again, fourth)

	check(t, os.WriteFile(filepath.Join(dir, commitFile), []byte("nonsense\n"), 0o600))
	damaged, _, _ := newReloader(docs, inState)
	if commit, err := damaged.LastCommit(); err == nil {
		t.Errorf("a damaged file: got commit %q", commit)
	}
}

func TestLastCommitAfterRollback(t *testing.T) {
	dir, docs, ctx := t.TempDir(), newDocuments("a"), context.Background()
	r, _, _ := newReloader(docs, func(o *Options) { o.StateDir = dir })
	first := docs.commit("1", "a")
	check(t, r.Reload(ctx))
	old := r.Revision()
	second := docs.commit("2", "b")
	check(t, r.Reload(ctx))
	wantCommit(t, r, second)
	check(t, r.Rollback(ctx, old))
	wantCommit(t, r, first)
	check(t, r.Reload(ctx)) // the newer commit is read, and not active
	wantCommit(t, r, first)
	again, _, _ := newReloader(docs, func(o *Options) { o.StateDir = dir })
	check(t, again.Load(ctx))
	wantCommit(t, again, first)
	check(t, again.Release(ctx))
	wantCommit(t, again, second)
}

// An accepted commit is not replaced by reading the active one again.
func TestAccept(t *testing.T) {
	dir, docs, ctx := t.TempDir(), newDocuments("a"), context.Background()
	r, _, _ := newReloader(docs, func(o *Options) { o.StateDir = dir })
	docs.commit("1", "a")
	check(t, r.Reload(ctx))
	for _, text := range []string{"", "abc", strings.Repeat("g", 40), strings.Repeat("A", 40), "../" + strings.Repeat("1", 37)} {
		if err := r.Accept(ctx, text); !errors.Is(err, ErrNotCommit) {
			t.Errorf("%q: got error %v", text, err)
		}
	}
	other := strings.Repeat("9", 40)
	check(t, r.Accept(ctx, other))
	check(t, r.Reload(ctx))
	wantCommit(t, r, other)
	again, _, _ := newReloader(docs, func(o *Options) { o.StateDir = dir })
	wantCommit(t, again, other)
	last := docs.commit("8", "b")
	check(t, r.Reload(ctx))
	wantCommit(t, r, last)

	// Without a state directory it is valid until a restart.
	r, _, _ = newReloader(docs, func(*Options) {})
	check(t, r.Accept(ctx, other))
	wantCommit(t, r, last) // of the reload that follows
}

// A commit that cannot be written is an error of the state, and written later.
func TestCommitIsNotWritten(t *testing.T) {
	dir, docs, ctx := t.TempDir(), newDocuments("a"), context.Background()
	r, _, _ := newReloader(docs, func(o *Options) { o.StateDir = dir })
	blocked := filepath.Join(dir, commitFile)
	check(t, os.MkdirAll(filepath.Join(blocked, "x"), 0o700))
	r.commit.Store(new(string)) // nothing to read
	first := docs.commit("1", "a")
	check(t, r.Reload(ctx))
	wantCommit(t, r, first)
	if s := r.Status(); s.StateError == "" || !s.Ready {
		t.Errorf("got status %+v, want a state error", s)
	}
	if err := r.Accept(ctx, strings.Repeat("9", 40)); err == nil {
		t.Error("Accept: got no error")
	}
	wantCommit(t, r, first)
	check(t, os.RemoveAll(blocked))
	check(t, r.Reload(ctx))
	if s := r.Status(); s.StateError != "" {
		t.Errorf("got state error %s", s.StateError)
	}
	again, _, _ := newReloader(docs, func(o *Options) { o.StateDir = dir })
	wantCommit(t, again, first)
	b, err := again.state.load()
	if err != nil || b.Manifest.Metadata.Commit != first {
		t.Errorf("the bundle: %v", err)
	}
}
