package git

import (
	"path/filepath"
	"testing"
	"time"

	gogit "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// Each text has the time of the commit that wrote it, whatever else of its file changed later.
func TestWritten(t *testing.T) {
	dir := t.TempDir()
	repository, err := gogit.PlainInit(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	work, err := repository.Worktree()
	if err != nil {
		t.Fatal(err)
	}
	var last string
	for day, content := range []string{"a\n", "b\na\n", "b\na\na\n", "b\nc\na\na\n", "b\nc\na\na\n"} {
		write(t, filepath.Join(dir, "policies", "a.yaml"), content)
		write(t, filepath.Join(dir, "other"), time.Duration(day).String())
		if _, err := work.Add("."); err != nil {
			t.Fatal(err)
		}
		who := &object.Signature{Name: "a", Email: "a@example.com", When: time.Date(2026, 1, 1+day, 0, 0, 0, 0, time.UTC)}
		hash, err := work.Commit("x", &gogit.CommitOptions{Author: who})
		if err != nil {
			t.Fatal(err)
		}
		last = hash.String()
	}
	c, err := OpenCheckout(dir)
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Written(t.Context(), last, "policies", map[string][]string{"a.yaml": {"a\n", "b\n", "c\n", "d\n", ""}, "none.yaml": {"a\n"}})
	if err != nil {
		t.Fatal(err)
	}
	for text, day := range map[string]int{"a\n": 3, "b\n": 2, "c\n": 4} {
		if want := time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC); !got["a.yaml"][text].Equal(want) {
			t.Errorf("%q: got %s, want %s", text, got["a.yaml"][text], want)
		}
	}
	if n := len(got["a.yaml"]) + len(got["none.yaml"]); n != 3 {
		t.Errorf("got %d times, want 3: %v", n, got)
	}
}
