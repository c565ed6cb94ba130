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

// checkout is a real repository with a work tree, and what git says of it.
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

// gitWith is git with something to read.
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

// gitServer serves repositories by git's own HTTP back end. A fault, if set, may
// answer in its place, which it reports.
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

func at(t *testing.T, text string) source.GitLocation {
	t.Helper()
	location, err := source.ParseLocation(text)
	if err != nil {
		t.Fatalf("ParseLocation(%q): %v", text, err)
	}
	if location.Git == nil {
		t.Fatalf("ParseLocation(%q) is no git location", text)
	}
	return *location.Git
}

// reading is a snapshot as tests compare it: each file's path and text, and the
// codes of what is wrong.
func reading(t *testing.T, r *git.Repository) (files map[string]string, codes []string, commit string) {
	t.Helper()
	snapshot, list, err := r.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	files = make(map[string]string)
	for _, f := range snapshot.Files {
		files[f.Path] = string(f.Content)
	}
	for _, d := range list {
		codes = append(codes, d.File+" "+string(d.Code))
	}
	return files, codes, snapshot.Commit
}

// Over HTTP and from a local repository the same commit reads alike.
func TestGitReadsACommit(t *testing.T) {
	c := newCheckout(t)
	c.write("policies/a.yaml", "a: 1\n")
	c.write("policies/deep/b.json", "{}")
	c.write("policies/.hidden/c.yaml", "c: 1\n")
	c.write("policies/notes.txt", "no document")
	c.write("elsewhere/d.yaml", "d: 1\n")
	c.link("policies/d.yaml", "../elsewhere/d.yaml")
	c.link("policies/more", "../elsewhere")
	head := c.commit()
	c.git("tag", "-a", "v1", "-m", "first")
	c.write("policies/a.yaml", "not committed\n")
	server := serveGit(t, c)
	want := map[string]string{"a.yaml": "a: 1\n", "deep/b.json": "{}", "d.yaml": "d: 1\n", "more/d.yaml": "d: 1\n"}
	for name, location := range map[string]string{
		"HTTP, the head":    "git+" + server.URL + "/work/.git//policies",
		"HTTP, a branch":    "git+" + server.URL + "/work/.git//policies?ref=main",
		"HTTP, a tag":       "git+" + server.URL + "/work/.git//policies?ref=v1",
		"HTTP, a commit":    "git+" + server.URL + "/work/.git//policies?ref=" + head,
		"a local one":       "git+file://" + c.dir + "//policies",
		"a local full name": "git+file://" + c.dir + "//policies?ref=refs/heads/main",
	} {
		t.Run(name, func(t *testing.T) {
			r := git.Open(git.Options{Location: at(t, location), Dir: t.TempDir()})
			files, codes, commit := reading(t, r)
			if len(codes) > 0 {
				t.Errorf("diagnostics %q", codes)
			}
			if commit != head {
				t.Errorf("commit %s, want %s", commit, head)
			}
			for path, text := range want {
				if files[path] != text {
					t.Errorf("%s is %q, want %q", path, files[path], text)
				}
			}
			if len(files) != len(want) {
				t.Errorf("files %q", files)
			}
		})
	}
}

func TestGitLinksStayInTheRepository(t *testing.T) {
	c := newCheckout(t)
	c.write("policies/a.yaml", "a: 1\n")
	c.link("policies/absolute.yaml", "/etc/passwd")
	c.link("policies/above.yaml", "../../x.yaml")
	c.link("policies/gone.yaml", "nowhere.yaml")
	c.link("policies/self.yaml", "self.yaml")
	c.link("policies/around", ".")
	c.commit()
	r := git.Open(git.Options{Location: at(t, "git+file://"+c.dir+"//policies")})
	_, codes, _ := reading(t, r)
	want := []string{
		"above.yaml outside-checkout", "absolute.yaml outside-checkout", "around link-loop",
		"gone.yaml broken-link", "self.yaml link-loop",
	}
	if strings.Join(codes, "\n") != strings.Join(want, "\n") {
		t.Errorf("diagnostics %q, want %q", codes, want)
	}
}

// What was read is not fetched again; what moved is, and a history that was
// rewritten is a commit like any other.
func TestGitFollowsItsReference(t *testing.T) {
	c := newCheckout(t)
	c.write("a.yaml", "a: 1\n")
	c.commit()
	server := serveGit(t, c)
	r := git.Open(git.Options{Location: at(t, "git+"+server.URL+"/work/.git?ref=main"), Dir: t.TempDir()})
	reading(t, r)
	reading(t, r)
	if got := server.fetches.Load(); got != 1 {
		t.Errorf("%d fetches of one commit", got)
	}
	c.write("a.yaml", "a: 2\n")
	c.commit()
	if files, _, _ := reading(t, r); files["a.yaml"] != "a: 2\n" {
		t.Errorf("after a commit %q", files["a.yaml"])
	}
	c.write("a.yaml", "a: 3\n")
	rewritten := c.commit("--amend")
	if files, _, commit := reading(t, r); files["a.yaml"] != "a: 3\n" || commit != rewritten {
		t.Errorf("after a rewrite %q of %s", files["a.yaml"], commit)
	}
}

// Whatever goes wrong on the way is an error that names the place and leaves nothing
// behind; the next reading is as good as ever.
func TestGitFaults(t *testing.T) {
	c := newCheckout(t)
	c.write("p/a.yaml", "a: 1\n")
	c.commit()
	for name, fault := range map[string]struct {
		location string
		want     string
		begin    func(*gitServer)
		end      func(*gitServer)
	}{
		"no such branch":     {location: "/work/.git//p?ref=nowhere", want: `no reference "nowhere"`},
		"a misspelt branch":  {location: "/work/.git//p?ref=mian", want: `did you mean "main"?`},
		"no such folder":     {location: "/work/.git//nowhere", want: "no folder"},
		"no such commit":     {location: "/work/.git//p?ref=" + strings.Repeat("1", 40)},
		"no such repository": {location: "/other/.git//p", want: "no such repository"},
		"no password":        {"/work/.git//p", "wants credentials", func(s *gitServer) { s.password = "secret" }, func(s *gitServer) { s.password = "" }},
	} {
		t.Run(name, func(t *testing.T) {
			server, dir := serveGit(t, c), t.TempDir()
			r := git.Open(git.Options{Location: at(t, "git+"+server.URL+fault.location), Dir: dir})
			if fault.begin != nil {
				fault.begin(server)
			}
			_, _, err := r.Snapshot(context.Background())
			if err == nil {
				t.Fatal("no error")
			}
			if !strings.Contains(err.Error(), "git+"+server.URL) || !strings.Contains(err.Error(), fault.want) {
				t.Errorf("the error does not say where, or not what: %v, want %s", err, fault.want)
			}
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			if fault.end != nil {
				fault.end(server)
				if files, _, _ := reading(t, r); files["a.yaml"] != "a: 1\n" {
					t.Errorf("afterwards %q", files)
				}
			}
		})
	}
}

func TestGitCredentials(t *testing.T) {
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
	location := at(t, "git+"+server.URL+"/work/.git")
	r := git.Open(git.Options{Location: location, Credentials: git.Credentials{File: file}.For})
	if files, _, _ := reading(t, r); files["a.yaml"] != "a: 1\n" {
		t.Errorf("files %q", files)
	}
	r = git.Open(git.Options{Location: location, Credentials: git.Credentials{User: "writ", Password: "wrong"}.For})
	if _, _, err := r.Snapshot(context.Background()); err == nil || strings.Contains(err.Error(), "wrong") {
		t.Errorf("with a wrong password: %v", err)
	}
}

// A commit that no allowed key has signed is not read.
func TestGitSignatures(t *testing.T) {
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Skip("ssh-keygen makes the signatures, and is not here")
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
		return "# who may\n" + string(content)
	}
	allow(public("allowed"))
	allowed, err := git.ReadKeys(file)
	if err != nil {
		t.Fatal(err)
	}
	c.write("a.yaml", "a: 1\n")
	c.commit()
	r := git.Open(git.Options{Location: at(t, "git+file://"+c.dir), Keys: allowed})
	c.git("config", "gpg.format", "ssh")
	refused := func(want string) {
		t.Helper()
		if _, _, err := r.Snapshot(context.Background()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	refused("not signed")
	c.git("config", "user.signingkey", filepath.Join(keys, "stranger.pub"))
	c.commit("-S")
	refused("no allowed key")
	c.git("config", "user.signingkey", filepath.Join(keys, "allowed.pub"))
	c.commit("-S")
	if files, _, _ := reading(t, r); files["a.yaml"] != "a: 1\n" {
		t.Errorf("a signed commit: %q", files)
	}

	allow("ssh-ed25519 nonsense\n")
	if changed, err := allowed.Reload(); changed || err == nil {
		t.Errorf("a broken file: changed %v, error %v", changed, err)
	}
	c.commit("-S")
	reading(t, r) // by the keys before
	allow(public("stranger"))
	if changed, err := allowed.Reload(); !changed || err != nil {
		t.Errorf("another key: changed %v, error %v", changed, err)
	}
	reading(t, r) // what was read stays read
	c.commit("-S")
	refused("no allowed key")
}

// A poke, and the time, make Watch notify.
func TestGitWatch(t *testing.T) {
	ticks := make(chan time.Time)
	r := git.Open(git.Options{
		Location: at(t, "git+file:///nowhere"),
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
		t.Errorf("Watch ended with %v", err)
	}
}

func TestParseLocation(t *testing.T) {
	for text, want := range map[string]struct{ url, subdir, ref, dir, problem string }{
		"policies":                            {dir: "policies"},
		"/git+x":                              {dir: "/git+x"},
		"git+https://host/a/b.git":            {url: "https://host/a/b.git"},
		"git+https://host/a/b.git//x/y?ref=v": {url: "https://host/a/b.git", subdir: "x/y", ref: "v"},
		"git+https://host/a//../../etc":       {url: "https://host/a", subdir: "etc"},
		"git+ssh://me@host:22/a.git//p":       {url: "ssh://host:22/a.git", subdir: "p"},
		"git+file:///srv/a.git//p?ref=x/y":    {url: "file:///srv/a.git", subdir: "p", ref: "x/y"},
		"https://host/a.git":                  {problem: "git+https://HOST"},
		"git@host:a.git":                      {problem: "git+ssh://USER@HOST"},
		"git+https://u:p@host/a":              {problem: "do not belong"},
		"git+https://u@host/a":                {problem: "do not belong"},
		"git+ssh://u:p@host/a":                {problem: "do not belong"},
		"git+ftp://host/a":                    {problem: "begins with"},
		"https://u:p@host/a":                  {problem: "git+https://HOST"},
		"git+https:///a":                      {problem: "no host"},
		"git+https://host":                    {problem: "no repository"},
		"git+https://host/a#main":             {problem: "no fragment"},
		"git+https://host/a?branch=main":      {problem: "no parameter"},
		"git+https://host/a?ref=a&ref=b":      {problem: "but one ref"},
		"git+https://host/a?ref=a..b":         {problem: "no git reference"},
		"git+https://host/a?ref=--upload":     {problem: "no git reference"},
	} {
		t.Run(text, func(t *testing.T) {
			got, err := source.ParseLocation(text)
			if want.problem != "" {
				if err == nil || !strings.Contains(err.Error(), want.problem) || strings.Contains(err.Error(), "u:p") {
					t.Errorf("error %v, want %q", err, want.problem)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			git := source.GitLocation{}
			if got.Git != nil {
				git = *got.Git
			}
			if got.Dir != want.dir || git.URL != want.url || git.Subdir != want.subdir || git.Ref != want.ref {
				t.Errorf("got %+v %+v", got, git)
			}
		})
	}
}
