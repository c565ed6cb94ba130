package serving

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/bundles/remote"
)

// flaky is a real server with faults in front of it.
type flaky struct {
	*httptest.Server
	real  http.Handler
	fault atomic.Pointer[http.HandlerFunc]
}

func newFlaky(t *testing.T, real http.Handler) *flaky {
	t.Helper()
	f := &flaky{real: real}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A server notices the end of a connection only after it has read the request.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if fault := f.fault.Load(); fault != nil {
			(*fault)(w, r)
			return
		}
		real.ServeHTTP(w, r)
	}))
	t.Cleanup(f.Close)
	return f
}

// spoils answers as the real server does, but for what change does to it.
func (f *flaky) spoils(w http.ResponseWriter, r *http.Request, change func([]byte) []byte) {
	recorded := httptest.NewRecorder()
	f.real.ServeHTTP(recorded, r)
	maps.Copy(w.Header(), recorded.Header())
	if r.Method != http.MethodHead { // it states how long the answer would be
		w.Header().Set("Content-Length", fmt.Sprint(recorded.Body.Len()))
	}
	w.WriteHeader(recorded.Code)
	_, _ = w.Write(change(bytes.Clone(recorded.Body.Bytes())))
}

// upstream is the source of a server's policies.
type upstream struct {
	args []string // of the server
	// publish publishes documents that let the user get pods.
	publish func(user string)
	faults  []fault
}

// fault is a fault of an upstream. begin starts the fault and then calls publish; end
// ends the fault, after which the published documents are readable.
type fault struct {
	name  string
	want  string // in the status; empty: as far as the server can know, nothing failed
	begin func(publish func()) (end func())
}

// overHTTP returns the faults that every HTTP source can have.
func (f *flaky) overHTTP() []fault {
	with := func(handle http.HandlerFunc) func(func()) func() {
		return func(publish func()) func() {
			f.fault.Store(&handle)
			publish()
			return func() { f.fault.Store(nil) }
		}
	}
	return []fault{
		{"connection closed", "EOF", with(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })},
		{"closed within the body", "EOF", with(func(w http.ResponseWriter, r *http.Request) {
			f.spoils(w, r, func(body []byte) []byte { return body[:len(body)/2] })
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		})},
		{"corrupted body", "127.0.0.1", with(func(w http.ResponseWriter, r *http.Request) {
			f.spoils(w, r, func(body []byte) []byte {
				for i := range body {
					body[i] ^= byte(i)
				}
				return body
			})
		})},
		{"507 Insufficient Storage", "507", with(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInsufficientStorage) })},
		{"slow response", "", func(publish func()) func() {
			asked, late := make(chan struct{}, 1), make(chan struct{})
			handle := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				select {
				case asked <- struct{}{}:
				default:
				}
				select {
				case <-late:
					f.real.ServeHTTP(w, r)
				case <-r.Context().Done():
				}
			})
			f.fault.Store(&handle)
			publish()
			<-asked
			return func() { f.fault.Store(nil); close(late) }
		}},
	}
}

func gitUpstream(t *testing.T, local bool) upstream {
	g := newGitHost(t)
	bare := filepath.Join(t.TempDir(), "bare.git")
	hidden := bare + ".hidden"
	at := bare
	g.git("init", "--quiet", "--bare", "--template=", "--initial-branch=main", bare)
	publish := func(user string) {
		g.commit(granting(user))
		g.git("push", "--quiet", at, "HEAD:refs/heads/main")
	}
	if !local {
		f := newFlaky(t, &cgi.Handler{
			Path: filepath.Join(g.git("--exec-path"), "git-http-backend"), Stderr: io.Discard,
			Env: []string{
				"GIT_PROJECT_ROOT=" + filepath.Dir(bare), "GIT_HTTP_EXPORT_ALL=1",
				"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
			},
		})
		return upstream{[]string{"--policies", "git+" + f.URL + "/bare.git//rbac?ref=main"}, publish, f.overHTTP()}
	}
	done := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	// spoilt publishes out of sight, and shows what is there when one file is spoilt.
	spoilt := func(path func() string, change func([]byte) []byte) func(func()) func() {
		return func(publish func()) func() {
			done(os.Rename(bare, hidden))
			at = hidden
			publish()
			at = bare
			path := path()
			content, err := os.ReadFile(filepath.Join(hidden, path))
			done(err)
			write := func(at string, content []byte) {
				done(os.WriteFile(filepath.Join(at, "new"), content, 0o644))
				done(os.Rename(filepath.Join(at, "new"), filepath.Join(at, path)))
			}
			write(hidden, change(bytes.Clone(content)))
			done(os.Rename(hidden, bare))
			return func() { write(bare, content) }
		}
	}
	object := func(name string) func() string {
		return func() string {
			hash := g.git("rev-parse", name)
			return filepath.Join("objects", hash[:2], hash[2:])
		}
	}
	half := func(content []byte) []byte { return content[:len(content)/2] }
	return upstream{[]string{"--policies", "git+file://" + bare + "//rbac?ref=main"}, publish, []fault{
		{"missing repository", "does not exist", func(publish func()) func() {
			done(os.Rename(bare, hidden))
			at = hidden
			publish()
			at = bare
			return func() { done(os.Rename(hidden, bare)) }
		}},
		{"truncated reference", "not found", spoilt(func() string { return "refs/heads/main" }, half)},
		{"truncated file", "read policy.yaml", spoilt(object("HEAD:rbac/policy.yaml"), half)},
		{"corrupted folder", "read folder", spoilt(object("HEAD:rbac"), func(content []byte) []byte { content[len(content)-1] ^= 1; return content })},
	}}
}

// shelf caches built bundles, shared by the upstreams that publish them.
type shelf struct {
	*builder
	mu    sync.Mutex // held while one is built
	built map[string][]byte
}

// of returns the bundle that lets user-N get pods; its sequence number is N+1.
func (s *shelf) of(user, key string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.built[user+key] == nil {
		n := 100
		if _, err := fmt.Sscanf(user, "user-%d", &n); err == nil {
			n++
		}
		s.built[user+key] = s.build(user, n, key)
	}
	return s.built[user+key]
}

// bundleUpstream is an upstream of signed bundles, which put stores.
func bundleUpstream(s *shelf, f *flaky, location string, put func(content []byte)) upstream {
	publish := func(user string) { put(s.of(user, "now")) }
	return upstream{
		[]string{"--bundle", location, "--keys", s.keys, "--plain-http"}, publish, append(f.overHTTP(),
			fault{"unsigned bundle", "not signed", func(publish func()) func() {
				put(s.of("mallory", ""))
				return publish
			}}),
	}
}

func webUpstream(t *testing.T, s *shelf) upstream {
	var content atomic.Pointer[[]byte]
	f := newFlaky(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := *content.Load()
		tag := fmt.Sprintf(`"%d-%x"`, len(body), body[len(body)-8:])
		w.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = w.Write(body)
	}))
	return bundleUpstream(s, f, f.URL+"/bundle.tar.gz", func(body []byte) { content.Store(&body) })
}

func registryUpstream(t *testing.T, s *shelf) upstream {
	real := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	f := newFlaky(t, real)
	unspoilt := httptest.NewServer(real) // a push does not meet the faults
	t.Cleanup(unspoilt.Close)
	any := &bundles.Bundle{} // what is pushed is the content
	return bundleUpstream(s, f, "oci://"+strings.TrimPrefix(f.URL, "http://")+"/policies:v1", func(body []byte) {
		to := remote.PushOptions{Location: "oci://" + strings.TrimPrefix(unspoilt.URL, "http://") + "/policies:v1", PlainHTTP: true}
		if _, err := remote.Push(t.Context(), any, body, to); err != nil {
			t.Fatal(err)
		}
	})
}

// While a fault lasts, the server answers from the last good revision and reports the
// error; afterwards it loads the newest revision without intervention.
func TestAnswersOutliveFaults(t *testing.T) {
	s := &shelf{builder: newBuilder(t), built: map[string][]byte{}}
	table := "\n| source | fault | error |\n| --- | --- | --- |\n"
	for _, source := range []struct {
		name string
		upstream
	}{
		{"git server", gitUpstream(t, false)},
		{"bare repository", gitUpstream(t, true)},
		{"HTTP server", webUpstream(t, s)},
		{"registry", registryUpstream(t, s)},
	} {
		for _, f := range source.faults {
			message := "none: the request succeeds"
			if f.want != "" {
				message = "`" + f.want + "`"
			}
			table += fmt.Sprintf("| %s | %s | %s |\n", source.name, f.name, message)
		}
		t.Run(source.name, func(t *testing.T) {
			t.Parallel()
			up := source.upstream
			up.publish("user-0")
			address := serve(t, append(up.args, "--every", "50ms", "--state-dir", t.TempDir())...)
			for i, f := range up.faults {
				old, next := fmt.Sprintf("user-%d", i), fmt.Sprintf("user-%d", i+1)
				_, revision, _ := mayGet(t, address, old)
				if !t.Run(f.name, func(t *testing.T) { f.meet(t, up, address, old, next, revision) }) {
					t.Fatalf("%v", statusOf(t, address))
				}
			}
		})
	}
	page, err := os.ReadFile("../../docs/faults.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), table+"\n") {
		t.Errorf("docs/faults.md must contain this table:\n%s", table)
	}
}

func (f fault) meet(t *testing.T, up upstream, address, old, next, revision string) {
	t.Helper()
	answers := func(when string) {
		t.Helper()
		for user, want := range map[string]bool{old: true, next: false, "mallory": false} {
			if got, by, status := mayGet(t, address, user); got != want || by != revision || status != http.StatusOK {
				t.Errorf("%s: %s %v by revision %s, status %d; want %v by %s", when, user, got, by, status, want, revision)
			}
		}
	}
	end := f.begin(func() { up.publish(next) })
	if f.want != "" {
		waitFor(t, func() bool { return strings.Contains(fmt.Sprint(statusOf(t, address)["lastError"]), f.want) })
		if s := statusOf(t, address); s["degraded"] != true || s["revision"] != revision || s["behindSeconds"] == 0.0 {
			t.Errorf("status %v, want degraded, behind and revision %s", s, revision)
		}
	}
	answers("while it lasts")
	end()
	waitFor(t, func() bool { allowed, _, _ := mayGet(t, address, next); return allowed })
	waitFor(t, func() bool {
		s := statusOf(t, address)
		return s["degraded"] == false && s["lastError"] == "" && s["behindSeconds"] == 0.0
	})
	if allowed, _, _ := mayGet(t, address, old); allowed {
		t.Errorf("%s may still get pods", old)
	}
}
