package git

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gogit "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// committed returns a repository with two commits of one file in a folder.
func committed(t *testing.T, dir string) (repository *gogit.Repository, first, second string) {
	t.Helper()
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
		write(t, filepath.Join(dir, "policies", "a.yaml"), content)
		if _, err := work.Add("policies"); err != nil {
			t.Fatal(err)
		}
		hash, err := work.Commit("x", &gogit.CommitOptions{Author: &object.Signature{Name: "a", Email: "a@example.com"}})
		if err != nil {
			t.Fatal(err)
		}
		return hash.String()
	}
	return repository, commit("one"), commit("two")
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestCheckout(t *testing.T) {
	dir := t.TempDir()
	if _, err := OpenCheckout(dir); !errors.Is(err, ErrNoRepository) {
		t.Fatalf("got %v, want ErrNoRepository", err)
	}
	_, first, second := committed(t, dir)
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
		if err != nil || len(list) > 0 || len(snapshot.Files) != 1 || string(snapshot.Files[0].Content.Bytes()) != want {
			t.Errorf("got %v, %v and %v, want a file with %q", snapshot.Files, list, err, want)
		}
	}
	for _, folder := range []string{"elsewhere", "../policies"} {
		if _, _, err := c.Snapshot(t.Context(), first, folder, false); !errors.Is(err, ErrNoFolder) {
			t.Errorf("folder %q: got %v, want ErrNoFolder", folder, err)
		}
	}
	if _, _, err := c.Snapshot(t.Context(), first, "policies/a.yaml", false); !errors.Is(err, ErrNotFolder) {
		t.Errorf("a file: got %v, want ErrNotFolder", err)
	}
	write(t, filepath.Join(dir, ".git", "FETCH_HEAD"), first+"\t\tbranch 'main' of example\n"+second+"\tnot-for-merge\tbranch 'x' of example\n")
	if got, err := c.Resolve("FETCH_HEAD"); err != nil || got != first {
		t.Errorf("FETCH_HEAD: got %s and %v, want %s", got, err, first)
	}
}

// A repository is found in each form that git makes of it.
func TestFormsOfRepositories(t *testing.T) {
	origin := t.TempDir()
	_, first, _ := committed(t, origin)
	dot := filepath.Join(origin, ".git")
	for name, make := range map[string]func(dir string){
		"a sparse checkout": func(dir string) {
			write(t, filepath.Join(dir, ".git", "config"), "[core]\n\trepositoryformatversion = 0\n[extensions]\n\tworktreeConfig = true\n")
		},
		"a partial clone": func(dir string) {
			write(t, filepath.Join(dir, ".git", "config"), "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tpartialClone = origin\n")
		},
		"borrowed objects": func(dir string) {
			objects := filepath.Join(dir, ".git", "objects")
			if err := os.RemoveAll(objects); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(objects, "info", "alternates"), filepath.Join(dot, "objects")+"\n")
		},
		"a bare repository": func(dir string) {
			if err := errors.Join(os.RemoveAll(dir), os.CopyFS(dir, os.DirFS(dot))); err != nil {
				t.Fatal(err)
			}
		},
		"a file that names the repository": func(dir string) {
			if err := os.RemoveAll(filepath.Join(dir, ".git")); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, ".git"), "gitdir: "+dot+"\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "clone")
			if err := os.CopyFS(dir, os.DirFS(origin)); err != nil {
				t.Fatal(err)
			}
			make(dir)
			c, err := OpenCheckout(dir)
			if err != nil {
				t.Fatal(err)
			}
			commit, err := c.Resolve("HEAD~1")
			if err != nil || commit != first {
				t.Fatalf("got %s and %v, want %s", commit, err, first)
			}
			snapshot, _, err := c.Snapshot(t.Context(), commit, "policies", false)
			if err != nil || len(snapshot.Files) != 1 {
				t.Errorf("got %v and %v, want one file", snapshot.Files, err)
			}
		})
	}
}

// A format that changes how objects are stored is rejected.
func TestUnknownFormatIsRejected(t *testing.T) {
	dir := t.TempDir()
	committed(t, dir)
	write(t, filepath.Join(dir, ".git", "config"), "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectFormat = sha256\n")
	if _, err := OpenCheckout(dir); err == nil || errors.Is(err, ErrNoRepository) || !strings.Contains(err.Error(), "objectformat") {
		t.Errorf("got %v, want an error that names the extension", err)
	}
}

// Without the whole history the best common ancestor is not known.
func TestNoMergeBase(t *testing.T) {
	dir := t.TempDir()
	repository, first, second := committed(t, dir)
	tree, err := repository.CommitObject(plumbing.NewHash(first))
	if err != nil {
		t.Fatal(err)
	}
	root := &object.Commit{Message: "root", TreeHash: tree.TreeHash}
	stored := repository.Storer.NewEncodedObject()
	if err := root.Encode(stored); err != nil {
		t.Fatal(err)
	}
	other, err := repository.Storer.SetEncodedObject(stored)
	if err != nil {
		t.Fatal(err)
	}
	mergeBase := func(want string) {
		t.Helper()
		c, err := OpenCheckout(dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.MergeBase(second, other.String()); !errors.Is(err, ErrNoMergeBase) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
	mergeBase("no common ancestor")
	write(t, filepath.Join(dir, ".git", "shallow"), second+"\n")
	if err := os.Remove(filepath.Join(dir, ".git", "objects", first[:2], first[2:])); err != nil {
		t.Fatal(err)
	}
	mergeBase("the clone is shallow")
}
