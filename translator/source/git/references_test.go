package git_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/writ-policy/writ/translator/source/git"
)

// hostile are texts that a program could take for an option, a search, a range, a file beside
// the references or another repository.
var hostile = []string{
	"", " ", "-", "--upload-pack=touch /tmp/x", "-c", "main..other", "main...other", "..", "../main", "../../config", "refs/../../config", "/etc/passwd", "/main", "main/", "a//b",
	"main~1", "main^", "HEAD^{/x}", ":/x", "main:a.yaml", "@", "@{-1}", "main@{1}", "main@{upstream}", "a b", "a\tb", "a\nb", "a\x00b", "a\x7fb", "a\x1b[2Jb", "a\u202eb",
	"*", "ma?n", "[m]ain", `a\b`, ".git", "a/.b", "main.lock", "main.", "https://example.com/x.git", "ext::sh -c touch", "git@example.com:x.git", "file:///tmp/x",
	strings.Repeat("a", 300), "$(touch x)", "`touch x`", "a;b|c", "\xff",
}

func TestNames(t *testing.T) {
	for _, name := range []string{"main", "HEAD", "team/x", "v1.2.3", "refs/heads/main", "refs/pull/7/head", "origin/main", "fix-#12", "grüße", strings.Repeat("1", 40), "0123abc"} {
		if err := git.CheckName(name); err != nil {
			t.Errorf("%q: got %v", name, err)
		}
	}
	c := newCheckout(t)
	c.write("a.yaml", "a: 1\n")
	c.commit()
	server := serveGit(t, c)
	r := git.Open(git.Options{Location: parse(t, "git+"+server.URL+"/"+filepath.Base(c.dir)+"/.git"), Dir: t.TempDir()})
	local, err := git.OpenCheckout(c.dir)
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	answer := func(w http.ResponseWriter, r *http.Request, next http.Handler) bool { asked++; return false }
	server.fault.Store(&answer)
	for _, name := range hostile {
		err := git.CheckName(name)
		if isShell := strings.ContainsAny(name, "$`;"); isShell && !strings.Contains(name, " ") {
			continue // git permits it, and no shell reads it
		}
		if !errors.Is(err, git.ErrBadName) {
			t.Errorf("%q: got %v", name, err)
		}
		if _, _, err := r.SnapshotOf(t.Context(), name); !errors.Is(err, git.ErrBadName) {
			t.Errorf("%q of a server: got %v", name, err)
		}
		if _, err := local.Lookup(name); !errors.Is(err, git.ErrBadName) {
			t.Errorf("%q of a directory: got %v", name, err)
		}
	}
	if asked > 0 {
		t.Errorf("the server was asked %d times for what cannot be a name", asked)
	}
	// What can be a name and is not a reference is not read as a file, either.
	for _, name := range []string{"config", "hooks/pre-commit.sample", "objects", "heads", "refs/heads", "logs/HEAD", "FETCH_HEAD", "a;b|c"} {
		if _, _, err := r.SnapshotOf(t.Context(), name); !errors.Is(err, git.ErrBadRevision) {
			t.Errorf("%q of a server: got %v", name, err)
		}
		if _, err := local.Lookup(name); !errors.Is(err, git.ErrBadRevision) {
			t.Errorf("%q of a directory: got %v", name, err)
		}
	}
}

// References of a server and of a directory are read by name and by commit; what Snapshot
// returns stays, and a fetch that waits keeps no other one waiting.
func TestReferences(t *testing.T) {
	c := newCheckout(t)
	c.write("p/a.yaml", "a: 1\n")
	first := c.commit()
	c.git("tag", "-a", "v1", "-m", "one")
	c.git("checkout", "--quiet", "-b", "team/x")
	c.write("p/a.yaml", "a: 2\n")
	second := c.commit()
	c.git("checkout", "--quiet", "main")
	c.git("update-ref", "refs/remotes/origin/y", second)
	c.git("update-ref", "refs/pull/7/head", second)
	want := map[string]string{"main": "a: 1\n", "HEAD": "a: 1\n", "v1": "a: 1\n", "team/x": "a: 2\n", "refs/heads/team/x": "a: 2\n", "origin/y": "a: 2\n", "pull/7/head": "a: 2\n", first: "a: 1\n", second: "a: 2\n"}
	server := serveGit(t, c)
	dir := t.TempDir()
	r := git.Open(git.Options{Location: parse(t, "git+"+server.URL+"/"+filepath.Base(c.dir)+"/.git//p?ref=main"), Dir: dir})
	read(t, r)
	local, err := git.OpenCheckout(filepath.Join(c.dir, "p"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range want {
		snapshot, list, err := r.SnapshotOf(t.Context(), name)
		if err != nil || len(list) > 0 || len(snapshot.Files) != 1 || string(snapshot.Files[0].Content.Bytes()) != text {
			t.Errorf("%s of a server: got %+v, %v, %v", name, snapshot.Files, list, err)
		}
		commit, err := local.Lookup(name)
		if err != nil {
			t.Errorf("%s of a directory: %v", name, err)
			continue
		}
		found, _, err := local.Snapshot(t.Context(), commit, "p", false)
		if err != nil || string(found.Files[0].Content.Bytes()) != text {
			t.Errorf("%s of a directory: got %+v, %v", name, found.Files, err)
		}
	}
	if commit, err := local.Lookup(second[:9]); err != nil || commit != second {
		t.Errorf("the first digits: got %s, %v", commit, err)
	}
	if files, _, commit := read(t, r); files["a.yaml"] != "a: 1\n" || commit != first {
		t.Errorf("after other references: got %q of %s", files["a.yaml"], commit)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	stalled, release := make(chan struct{}), make(chan struct{})
	var isHeld atomic.Bool
	stall := func(http.ResponseWriter, *http.Request, http.Handler) bool {
		if isHeld.CompareAndSwap(false, true) {
			close(stalled)
			<-release
		}
		return false
	}
	server.fault.Store(&stall)
	ended := make(chan error, 1)
	go func() {
		_, _, err := r.Snapshot(context.Background())
		ended <- err
	}()
	<-stalled
	if _, _, err := r.SnapshotOf(t.Context(), "team/x"); err != nil {
		t.Errorf("while Snapshot waits: %v", err)
	}
	close(release)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
