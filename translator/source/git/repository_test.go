package git_test

import (
	"context"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/source/git"
)

// checkout runs git in a real repository with a work tree.
type checkout struct {
	t   *testing.T
	dir string
}

func newCheckout(t *testing.T) *checkout {
	t.Helper()
	c := &checkout{t, filepath.Join(t.TempDir(), "work")}
	if err := os.Mkdir(c.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	c.git("init", "--quiet", "--initial-branch=main")
	return c
}

func (c *checkout) git(args ...string) string {
	c.t.Helper()
	return c.gitWith("", args...)
}

// gitWith runs git with a standard input.
func (c *checkout) gitWith(input string, args ...string) string {
	c.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = c.dir, strings.NewReader(input)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func (c *checkout) write(name, text string) {
	c.t.Helper()
	path := filepath.Join(c.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

func (c *checkout) link(name, target string) {
	c.t.Helper()
	path := filepath.Join(c.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		c.t.Fatal(err)
	}
}

// commit records everything and returns the commit.
func (c *checkout) commit(args ...string) string {
	c.t.Helper()
	c.git("add", "--all")
	c.git(append([]string{"commit", "--quiet", "--allow-empty", "-m", "change"}, args...)...)
	return c.git("rev-parse", "HEAD")
}

// gitServer serves repositories by git http-backend. A fault, if set, can respond instead
// and reports whether it did.
type gitServer struct {
	*httptest.Server
	fault    atomic.Pointer[func(http.ResponseWriter, *http.Request, http.Handler) bool]
	fetches  atomic.Int64
	password string
}

func serveGit(t *testing.T, c *checkout) *gitServer {
	t.Helper()
	return serveGitBelow(t, filepath.Dir(c.dir))
}

func serveGitBelow(t *testing.T, dir string) *gitServer {
	t.Helper()
	backend, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	handler := &cgi.Handler{Path: filepath.Join(strings.TrimSpace(string(backend)), "git-http-backend"), Stderr: io.Discard, Env: []string{
		"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1",
		"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=uploadpack.allowReachableSHA1InWant", "GIT_CONFIG_VALUE_0=true",
		"GIT_CONFIG_KEY_1=safe.directory", "GIT_CONFIG_VALUE_1=*",
	}}
	s := &gitServer{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != s.password {
			w.Header().Set("WWW-Authenticate", "Basic")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if r.Method == http.MethodPost {
			s.fetches.Add(1)
		}
		if fault := s.fault.Load(); fault != nil && (*fault)(w, r, handler) {
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func parse(t *testing.T, text string) source.GitLocation {
	t.Helper()
	location, err := source.ParseLocation(text)
	if err != nil {
		t.Fatalf("ParseLocation(%q): %v", text, err)
	}
	if location.Git == nil {
		t.Fatalf("ParseLocation(%q): got a directory, want a git location", text)
	}
	return *location.Git
}

// read returns the contents of a snapshot by path and its diagnostics as "path code".
func read(t *testing.T, r *git.Repository) (files map[string]string, codes []string, commit string) {
	t.Helper()
	snapshot, list, err := r.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	files = make(map[string]string)
	for _, f := range snapshot.Files {
		files[f.Path] = string(f.Content.Bytes())
	}
	for _, d := range list {
		codes = append(codes, d.File+" "+string(d.Code))
	}
	return files, codes, snapshot.Commit
}

// The same commit has the same files over HTTP and in a local repository.
func TestReadCommit(t *testing.T) {
	c := newCheckout(t)
	c.write("policies/a.yaml", "a: 1\n")
	c.write("policies/deep/b.json", "{}")
	c.write("policies/.hidden/c.yaml", "c: 1\n")
	c.write("policies/notes.txt", "not a document")
	c.write("elsewhere/d.yaml", "d: 1\n")
	c.link("policies/d.yaml", "../elsewhere/d.yaml")
	c.link("policies/more", "../elsewhere")
	head := c.commit()
	c.git("tag", "-a", "v1", "-m", "first")
	c.write("policies/a.yaml", "not committed\n")
	server := serveGit(t, c)
	want := map[string]string{"a.yaml": "a: 1\n", "deep/b.json": "{}", "d.yaml": "d: 1\n", "more/d.yaml": "d: 1\n"}
	for name, location := range map[string]string{
		"HTTP, HEAD":       "git+" + server.URL + "/work/.git//policies",
		"HTTP, a branch":   "git+" + server.URL + "/work/.git//policies?ref=main",
		"HTTP, a tag":      "git+" + server.URL + "/work/.git//policies?ref=v1",
		"HTTP, a commit":   "git+" + server.URL + "/work/.git//policies?ref=" + head,
		"local":            "git+file://" + c.dir + "//policies",
		"local, full name": "git+file://" + c.dir + "//policies?ref=refs/heads/main",
	} {
		t.Run(name, func(t *testing.T) {
			r := git.Open(git.Options{Location: parse(t, location), Dir: t.TempDir()})
			files, codes, commit := read(t, r)
			if len(codes) > 0 {
				t.Errorf("got diagnostics %q", codes)
			}
			if commit != head {
				t.Errorf("got commit %s, want %s", commit, head)
			}
			for path, text := range want {
				if files[path] != text {
					t.Errorf("%s: got %q, want %q", path, files[path], text)
				}
			}
			if len(files) != len(want) {
				t.Errorf("got files %q", files)
			}
		})
	}
}

// A snapshot knows who made its commit, when and why: without an address, in one printable
// line.
func TestCommitIsDescribed(t *testing.T) {
	c := newCheckout(t)
	c.write("a.yaml", "a: 1\n")
	c.git("add", "--all")
	c.git("commit", "--quiet", "--author", "Ada Lovelace <ada@example.com>", "--date", "2026-01-02T03:04:05+02:00", "-m", "Grants for the shop \u202e"+strings.Repeat("x", 300)+"\n\nbody")
	head := c.git("rev-parse", "HEAD")
	snapshot, _, err := git.Open(git.Options{Location: parse(t, "git+file://"+c.dir), Dir: t.TempDir()}).Snapshot(t.Context())
	if err != nil || len(snapshot.Origins) != 1 {
		t.Fatalf("got %d origins and %v", len(snapshot.Origins), err)
	}
	got := snapshot.Origins[0].Commit
	if got.Hash != head || got.Author != "Ada Lovelace" || got.Date.Format(time.RFC3339) != "2026-01-02T01:04:05Z" ||
		!strings.HasPrefix(got.Subject, `Grants for the shop \u202exxx`) || len(got.Subject) != 200 {
		t.Errorf("got %+v", got)
	}
}

func TestLinksStayInRepository(t *testing.T) {
	c := newCheckout(t)
	c.write("policies/a.yaml", "a: 1\n")
	c.link("policies/absolute.yaml", "/etc/passwd")
	c.link("policies/above.yaml", "../../x.yaml")
	c.link("policies/gone.yaml", "nowhere.yaml")
	c.link("policies/self.yaml", "self.yaml")
	c.link("policies/around", ".")
	c.commit()
	r := git.Open(git.Options{Location: parse(t, "git+file://"+c.dir+"//policies")})
	_, codes, _ := read(t, r)
	want := []string{
		"above.yaml outside-checkout", "absolute.yaml outside-checkout", "around link-loop",
		"gone.yaml broken-link", "self.yaml link-loop",
	}
	if strings.Join(codes, "\n") != strings.Join(want, "\n") {
		t.Errorf("got diagnostics %q, want %q", codes, want)
	}
}

// A commit is fetched once. A new commit is fetched, also after the history was rewritten.
func TestFetchOnlyNewCommits(t *testing.T) {
	c := newCheckout(t)
	c.write("a.yaml", "a: 1\n")
	c.commit()
	server := serveGit(t, c)
	r := git.Open(git.Options{Location: parse(t, "git+"+server.URL+"/work/.git?ref=main"), Dir: t.TempDir()})
	read(t, r)
	read(t, r)
	if got := server.fetches.Load(); got != 1 {
		t.Errorf("got %d fetches of one commit", got)
	}
	c.write("a.yaml", "a: 2\n")
	c.commit()
	if files, _, _ := read(t, r); files["a.yaml"] != "a: 2\n" {
		t.Errorf("after a commit: got %q", files["a.yaml"])
	}
	c.write("a.yaml", "a: 3\n")
	rewritten := c.commit("--amend")
	if files, _, commit := read(t, r); files["a.yaml"] != "a: 3\n" || commit != rewritten {
		t.Errorf("after a rewrite: got %q of %s", files["a.yaml"], commit)
	}
}

// A failed Snapshot returns an error with the location, leaves no file behind, and the next
// one succeeds.
func TestErrors(t *testing.T) {
	c := newCheckout(t)
	c.write("p/a.yaml", "a: 1\n")
	c.commit()
	for name, fault := range map[string]struct {
		location string
		want     string
		begin    func(*gitServer)
		end      func(*gitServer)
	}{
		"unknown branch":     {location: "/work/.git//p?ref=nowhere", want: `no reference "nowhere"`},
		"misspelled branch":  {location: "/work/.git//p?ref=mian", want: `did you mean "main"?`},
		"unknown folder":     {location: "/work/.git//nowhere", want: `folder not found: "nowhere"`},
		"unknown commit":     {location: "/work/.git//p?ref=" + strings.Repeat("1", 40)},
		"unknown repository": {location: "/other/.git//p", want: "repository not found"},
		"missing password":   {"/work/.git//p", "requires credentials", func(s *gitServer) { s.password = "secret" }, func(s *gitServer) { s.password = "" }},
	} {
		t.Run(name, func(t *testing.T) {
			server, dir := serveGit(t, c), t.TempDir()
			r := git.Open(git.Options{Location: parse(t, "git+"+server.URL+fault.location), Dir: dir})
			if fault.begin != nil {
				fault.begin(server)
			}
			_, _, err := r.Snapshot(context.Background())
			if err == nil {
				t.Fatal("got no error")
			}
			if !strings.Contains(err.Error(), "git+"+server.URL) || !strings.Contains(err.Error(), fault.want) {
				t.Errorf("got error %v, want the location and %s", err, fault.want)
			}
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			if fault.end != nil {
				fault.end(server)
				if files, _, _ := read(t, r); files["a.yaml"] != "a: 1\n" {
					t.Errorf("after the fault: got %q", files)
				}
			}
		})
	}
}

func TestCredentials(t *testing.T) {
	c := newCheckout(t)
	c.write("a.yaml", "a: 1\n")
	c.commit()
	server := serveGit(t, c)
	server.password = "s3cret"
	file := filepath.Join(t.TempDir(), "credentials")
	line := strings.Replace(server.URL, "://", "://writ:s3cret@", 1)
	if err := os.WriteFile(file, []byte("https://other:x@example.com\n"+line+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	location := parse(t, "git+"+server.URL+"/work/.git")
	r := git.Open(git.Options{Location: location, Credentials: git.Credentials{File: file}.For})
	if files, _, _ := read(t, r); files["a.yaml"] != "a: 1\n" {
		t.Errorf("got files %q", files)
	}
	r = git.Open(git.Options{Location: location, Credentials: git.Credentials{User: "writ", Password: "wrong"}.For})
	if _, _, err := r.Snapshot(context.Background()); err == nil || strings.Contains(err.Error(), "wrong") {
		t.Errorf("wrong password: got error %v, want one without the password", err)
	}
}

// A commit is read only if an allowed key signed it.
func TestSignatures(t *testing.T) {
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Skip("ssh-keygen not found")
	}
	c := newCheckout(t)
	keys := t.TempDir()
	for _, name := range []string{"allowed", "stranger"} {
		out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(keys, name)).CombinedOutput()
		if err != nil {
			t.Fatalf("ssh-keygen: %v\n%s", err, out)
		}
	}
	file := filepath.Join(keys, "signers")
	allow := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	public := func(name string) string {
		t.Helper()
		content, err := os.ReadFile(filepath.Join(keys, name+".pub"))
		if err != nil {
			t.Fatal(err)
		}
		return "# allowed signers\n" + string(content)
	}
	allow(public("allowed"))
	allowed, err := git.ReadKeys(git.KeyFiles{Allowed: file})
	if err != nil {
		t.Fatal(err)
	}
	c.write("a.yaml", "a: 1\n")
	c.commit()
	r := git.Open(git.Options{Location: parse(t, "git+file://"+c.dir), Keys: allowed})
	c.git("config", "gpg.format", "ssh")
	wantError := func(want string) {
		t.Helper()
		if _, _, err := r.Snapshot(context.Background()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %q", err, want)
		}
	}
	wantError("not signed, and")
	c.git("config", "user.signingkey", filepath.Join(keys, "stranger.pub"))
	c.commit("-S")
	wantError("not signed by an allowed key")
	c.git("config", "user.signingkey", filepath.Join(keys, "allowed.pub"))
	c.commit("-S")
	if files, _, _ := read(t, r); files["a.yaml"] != "a: 1\n" {
		t.Errorf("signed commit: got %q", files)
	}

	allow("ssh-ed25519 nonsense\n")
	if changed, err := allowed.Reload(); changed || err == nil {
		t.Errorf("invalid file: got changed %v, error %v", changed, err)
	}
	c.commit("-S")
	read(t, r) // with the previous keys
	allow(public("stranger"))
	if changed, err := allowed.Reload(); !changed || err != nil {
		t.Errorf("another key: got changed %v, error %v", changed, err)
	}
	read(t, r) // a commit that was read is not verified again
	c.commit("-S")
	wantError("not signed by an allowed key")
}

// Watch notifies after a poke and after each interval.
func TestWatch(t *testing.T) {
	ticks := make(chan time.Time)
	r := git.Open(git.Options{
		Location: parse(t, "git+file:///nowhere"),
		After:    func(time.Duration) <-chan time.Time { return ticks },
	})
	ctx, cancel := context.WithCancel(context.Background())
	notices, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- r.Watch(ctx, func() { notices <- struct{}{} }) }()
	r.Poke()
	<-notices
	ticks <- time.Time{}
	<-notices
	cancel()
	if err := <-ended; err != context.Canceled {
		t.Errorf("Watch returned %v", err)
	}
}
