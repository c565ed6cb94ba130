package git

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	gogit "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing/object"
)

func TestCheckout(t *testing.T) {
	dir := t.TempDir()
	if _, err := OpenCheckout(dir); !errors.Is(err, ErrNoRepository) {
		t.Fatalf("got %v, want ErrNoRepository", err)
	}
	repository, err := gogit.PlainInit(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	work, err := repository.Worktree()
	if err != nil {
		t.Fatal(err)
	}
	commit := func(content string) string {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(dir, "policies"), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "policies", "a.yaml"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := work.Add("policies"); err != nil {
			t.Fatal(err)
		}
		hash, err := work.Commit("x", &gogit.CommitOptions{Author: &object.Signature{Name: "a", Email: "a@example.com"}})
		if err != nil {
			t.Fatal(err)
		}
		return hash.String()
	}
	first, second := commit("one"), commit("two")
	c, err := OpenCheckout(filepath.Join(dir, "policies"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.Resolve("HEAD~1"); err != nil || got != first {
		t.Errorf("got %s and %v, want %s", got, err, first)
	}
	if _, err := c.Resolve("nowhere"); !errors.Is(err, ErrBadRevision) {
		t.Errorf("got %v, want ErrBadRevision", err)
	}
	if got, err := c.MergeBase(first, second); err != nil || got != first {
		t.Errorf("got %s and %v, want %s", got, err, first)
	}
	for commit, want := range map[string]string{first: "one", second: "two"} {
		snapshot, list, err := c.Snapshot(t.Context(), commit, "policies/", false)
		if err != nil || len(list) > 0 || len(snapshot.Files) != 1 || string(snapshot.Files[0].Content) != want {
			t.Errorf("got %v, %v and %v, want a file with %q", snapshot.Files, list, err, want)
		}
	}
	for _, folder := range []string{"elsewhere", "../policies"} {
		if _, _, err := c.Snapshot(t.Context(), first, folder, false); !errors.Is(err, ErrNoFolder) {
			t.Errorf("folder %q: got %v, want ErrNoFolder", folder, err)
		}
	}
}
