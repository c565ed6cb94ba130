package git_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/writ-policy/writ/internal/progress"
	"github.com/writ-policy/writ/tests/gate"
	"github.com/writ-policy/writ/tests/requests"
	"github.com/writ-policy/writ/translator/source/git"
)

// historyRepository is a repository whose branch is moved by tests. Its commits are
//
//	first - second - third - merge - last
//	              \- side -/
//
// and rewritten, a child of second, and orphan, without a parent.
func historyRepository(t *testing.T) (*checkout, map[string]string) {
	t.Helper()
	c := newCheckout(t)
	commits := map[string]string{}
	commit := func(name string) {
		c.write("a.yaml", "a: "+name+"\n")
		commits[name] = c.commit()
	}
	commit("first")
	commit("second")
	commit("third")
	c.git("checkout", "--quiet", "-b", "side", commits["second"])
	c.write("b.yaml", "b: side\n")
	commits["side"] = c.commit()
	c.git("checkout", "--quiet", "main")
	c.git("merge", "--quiet", "--no-edit", "side")
	commits["merge"] = c.git("rev-parse", "HEAD")
	for i := range 20 {
		commit(fmt.Sprint("between ", i))
	}
	commit("last")
	c.git("checkout", "--quiet", "-b", "rewritten", commits["second"])
	commit("rewritten")
	c.git("checkout", "--quiet", "--orphan", "orphan")
	commit("orphan")
	c.git("checkout", "--quiet", "main")
	return c, commits
}

// Only a descendant of the base is read, from a local repository and from servers with and
// without partial clones.
func TestDescent(t *testing.T) {
	gate.Only(t)
	c, commits := historyRepository(t)
	server, ssh := serveGit(t, c), serveSSH(t)
	commits["unknown"] = strings.Repeat("1", 40)
	for _, remote := range []struct{ name, location, filter string }{
		{"file", "git+file://" + c.dir, "false"},
		{"HTTP", "git+" + server.URL + "/work/.git", "false"},
		{"HTTP, partial", "git+" + server.URL + "/work/.git", "true"},
		{"SSH", "git+ssh://" + ssh.Addr().String() + c.dir + "/.git", "false"},
	} {
		c.git("config", "uploadpack.allowFilter", remote.filter)
		for _, row := range []struct {
			base, ref string
			want      bool
		}{
			{"", "orphan", true},
			{"last", "last", true},
			{"first", "second", true},
			{"first", "last", true},
			{"side", "last", true},
			{"third", "merge", true},
			{"last", "first", false},
			{"second", "first", false},
			{"merge", "third", false},
			{"third", "side", false},
			{"third", "rewritten", false},
			{"second", "rewritten", true},
			{"first", "orphan", false},
			{"orphan", "last", false},
			{"unknown", "last", false},
		} {
			t.Run(fmt.Sprintf("%s/%s after %s", remote.name, row.ref, row.base), func(t *testing.T) {
				c.t = t
				c.git("branch", "--force", "policies", commits[row.ref])
				dir := t.TempDir()
				r := git.Open(git.Options{
					Location: parse(t, remote.location+"?ref=policies"), Dir: dir,
					Credentials: git.Credentials{SSHKey: ssh.key, KnownHosts: ssh.hosts}.For,
					Base:        func() (string, error) { return commits[row.base], nil },
				})
				snapshot, _, err := r.Snapshot(context.Background())
				var descent *git.DescentError
				switch {
				case row.want && (err != nil || snapshot.Commit != commits[row.ref]):
					t.Errorf("got commit %s, error %v", snapshot.Commit, err)
				case !row.want && !errors.As(err, &descent):
					t.Errorf("got error %v, want a DescentError", err)
				case !row.want && (descent.Commit != commits[row.ref] || descent.Base != commits[row.base]):
					t.Errorf("got error %v", err)
				}
				if left, _ := os.ReadDir(dir); len(left) > 0 {
					t.Errorf("left behind: %v", left)
				}
			})
		}
	}
	c.t = t
}

// A refused commit is not fetched again, until the base changes.
func TestRefusedCommitIsFetchedOnce(t *testing.T) {
	c, commits := historyRepository(t)
	server := serveGit(t, c)
	base := commits["third"]
	r := git.Open(git.Options{
		Location: parse(t, "git+"+server.URL+"/work/.git?ref=main"),
		Base:     func() (string, error) { return base, nil },
	})
	c.git("reset", "--quiet", "--hard", commits["rewritten"])
	var texts []string
	var observed requests.Counter
	for range 2 {
		_, _, err := r.Snapshot(progress.WithObservers(context.Background(), &observed))
		texts = append(texts, fmt.Sprint(err))
	}
	if got := server.fetches.Load(); got != 2 || texts[0] != texts[1] || !strings.Contains(texts[0], commits["rewritten"]) {
		t.Errorf("got %d fetches, errors %q; want the commit and its history once", got, texts)
	}
	if observed.Load() < 3 {
		t.Errorf("observed %d requests, want the references and two fetches", observed.Load())
	}
	base = commits["rewritten"]
	if _, _, commit := read(t, r); commit != base {
		t.Errorf("accepted: got commit %s", commit)
	}
	c.git("reset", "--quiet", "--hard", commits["third"])
	if _, _, err := r.Snapshot(context.Background()); err == nil {
		t.Error("back to the history before: got no error")
	}
}

// A server that has removed the base, or fails while it sends the history, does not make
// another commit acceptable.
func TestDescentFaults(t *testing.T) {
	c, commits := historyRepository(t)
	c.git("reset", "--quiet", "--hard", commits["rewritten"])
	c.git("branch", "--quiet", "-D", "side", "orphan", "rewritten")
	c.git("reflog", "expire", "--expire=now", "--all")
	c.git("gc", "--quiet", "--prune=now")
	server := serveGit(t, c)
	open := func(base string, limit int64) *git.Repository {
		return git.Open(git.Options{
			Location: parse(t, "git+"+server.URL+"/work/.git?ref=main"), MaxFetch: limit,
			Base: func() (string, error) {
				if base == "" {
					return "", errors.New("cannot be read")
				}
				return base, nil
			},
		})
	}
	var descent *git.DescentError
	if _, _, err := open(commits["third"], 0).Snapshot(context.Background()); !errors.As(err, &descent) {
		t.Errorf("removed base: got error %v", err)
	}
	if _, _, err := open("", 0).Snapshot(context.Background()); err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("unreadable base: got error %v", err)
	}
	posts := 0
	fault := func(w http.ResponseWriter, r *http.Request, real http.Handler) bool {
		if r.Method == http.MethodPost {
			posts++
		}
		if posts < 2 {
			return false
		}
		sendChanged(w, r, real, func(body []byte) []byte { return body[:len(body)/2] })
		return true
	}
	server.fault.Store(&fault)
	if _, _, err := open(commits["first"], 0).Snapshot(context.Background()); err == nil || !strings.Contains(err.Error(), "history of commit") {
		t.Errorf("truncated history: got error %v", err)
	}
	server.fault.Store(nil)
	if _, _, commit := read(t, open(commits["first"], 0)); commit != commits["rewritten"] {
		t.Errorf("got commit %s", commit)
	}
}

// A server that supports partial clones sends the history without trees.
func TestHistoryHasNoTrees(t *testing.T) {
	c, commits := historyRepository(t)
	c.git("config", "uploadpack.allowFilter", "true")
	server := serveGit(t, c)
	var last []byte
	fault := func(w http.ResponseWriter, r *http.Request, real http.Handler) bool {
		if r.Method == http.MethodPost {
			last, _ = io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(last))
		}
		return false
	}
	server.fault.Store(&fault)
	r := git.Open(git.Options{
		Location: parse(t, "git+"+server.URL+"/work/.git?ref=main"),
		Base:     func() (string, error) { return commits["first"], nil },
	})
	if _, _, err := r.Snapshot(context.Background()); err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(last, []byte("filter tree:0")) || !bytes.Contains(last, []byte("have "+commits["first"])) {
		t.Errorf("got request %q", last)
	}
}
