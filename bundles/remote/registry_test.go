package remote

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/open-policy-agent/opa/v1/download"
	"github.com/open-policy-agent/opa/v1/logging"
	"github.com/open-policy-agent/opa/v1/plugins"
	"github.com/open-policy-agent/opa/v1/plugins/rest"

	"github.com/writ-policy/writ/bundles"
)

func listenOn(t testing.TB, address string) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	check(t, err)
	return listener
}

// depot is a registry on loopback. A fault, if set, may answer in its place, which it
// reports.
type depot struct {
	*httptest.Server
	fault atomic.Pointer[func(http.ResponseWriter, *http.Request, http.Handler) bool]
	// password, if set, is wanted of the user "robot".
	password string
}

func newDepot(t testing.TB) *depot {
	t.Helper()
	d := &depot{}
	real := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); d.password != "" && (user != "robot" || password != d.password) {
			w.Header().Set("WWW-Authenticate", `Basic realm="depot"`)
			http.Error(w, `{"errors":[{"code":"UNAUTHORIZED"}]}`, http.StatusUnauthorized)
			return
		}
		if fault := d.fault.Load(); fault != nil && (*fault)(w, r, real) {
			return
		}
		real.ServeHTTP(w, r)
	}))
	t.Cleanup(d.Close)
	return d
}

func (d *depot) at(reference string) string {
	return "oci://" + strings.TrimPrefix(d.URL, "http://") + "/" + reference
}

func (d *depot) push(t testing.TB, b *bundles.Bundle, reference string) Pushed {
	t.Helper()
	pushed, err := Push(t.Context(), b, packed(t, b), PushOptions{Location: d.at(reference), PlainHTTP: true})
	check(t, err)
	return pushed
}

// Each fault is met between two good bundles, at each step of what is asked.
func TestRegistryFaults(t *testing.T) {
	r := newKeyring(t)
	first, second := r.sign(t, built(t, "dev", 1), "active"), r.sign(t, built(t, "operations", 2), "active")
	type fault = func(w http.ResponseWriter, r *http.Request, real http.Handler) bool
	faults := []struct {
		name  string
		fault fault
		want  string // in the error; of a step in wants, another one
	}{
		{"connection closed", func(w http.ResponseWriter, _ *http.Request, _ http.Handler) bool {
			connection, _, err := w.(http.Hijacker).Hijack()
			check(t, err)
			connection.Close()
			return true
		}, "EOF"},
		{"404 Not Found", func(w http.ResponseWriter, _ *http.Request, _ http.Handler) bool {
			http.Error(w, `{"errors":[]}`, http.StatusNotFound)
			return true
		}, "not found"},
		{"500 Internal Server Error", func(w http.ResponseWriter, _ *http.Request, _ http.Handler) bool {
			w.WriteHeader(http.StatusInternalServerError)
			return true
		}, "500"},
		{"closed within the body", func(w http.ResponseWriter, r *http.Request, real http.Handler) bool {
			recorded := httptest.NewRecorder()
			real.ServeHTTP(recorded, r)
			copyHeader(w, recorded)
			_, _ = w.Write(recorded.Body.Bytes()[:recorded.Body.Len()/2])
			panic(http.ErrAbortHandler)
		}, "EOF"},
		{"corrupted content", func(w http.ResponseWriter, r *http.Request, real http.Handler) bool {
			recorded := httptest.NewRecorder()
			real.ServeHTTP(recorded, r)
			copyHeader(w, recorded)
			content := recorded.Body.Bytes()
			content[0] ^= 0x20 // in the middle it would be another mistake each time
			_, _ = w.Write(content)
			return true
		}, "gzip"},
		{"no response", func(_ http.ResponseWriter, r *http.Request, _ http.Handler) bool {
			<-r.Context().Done()
			return true
		}, "timed out"},
	}
	steps := []struct {
		name, method, path string
		wants              map[string]string
	}{
		{"the tag", http.MethodHead, "/manifests/", nil},
		{"the manifest", http.MethodGet, "/manifests/", map[string]string{"corrupted content": "mismatched digest"}},
		{"the tarball", http.MethodGet, "/blobs/", nil},
	}
	var table [][]string
	for _, f := range faults {
		row := []string{f.name}
		for _, step := range steps {
			if step.method == http.MethodHead && (f.name == "closed within the body" || f.name == "corrupted content") {
				continue // it has no body
			}
			if said := cmp.Or(step.wants[f.name], f.want); !slices.Contains(row[1:], said) {
				row = append(row, said)
			}
			t.Run(step.name+"/"+f.name, func(t *testing.T) {
				t.Parallel() // some wait
				d := newDepot(t)
				d.push(t, first, "policies:latest")
				patience := time.Minute
				if f.name == "no response" {
					patience = 2 * time.Second
				}
				l := listen(t, Options{Location: d.at("policies:latest"), Keys: r.keys, PlainHTTP: true, Timeout: patience})
				check(t, l.step())
				d.push(t, second, "policies:latest")
				wanted := func(w http.ResponseWriter, r *http.Request, real http.Handler) bool {
					if r.Method != step.method || !strings.Contains(r.URL.Path, step.path) {
						return false
					}
					return f.fault(w, r, real)
				}
				d.fault.Store(&wanted)
				for range 2 {
					wantError(t, l.step(), cmp.Or(step.wants[f.name], f.want))
				}
				if got := l.Status(); got.Revision != first.Manifest.Revision || got.Failures != 2 || len(l.failures) != 2 {
					t.Errorf("status after the fault: got %+v, want revision %s and 2 failures", got, first.Manifest.Revision)
				}
				d.fault.Store(nil)
				check(t, l.step())
				if got, want := l.last(), second.Manifest.Revision; got != want {
					t.Errorf("after the fault: got %s, want %s", got, want)
				}
			})
		}
		table = append(table, row)
	}
	documented(t, table)
}

func copyHeader(w http.ResponseWriter, recorded *httptest.ResponseRecorder) {
	maps.Copy(w.Header(), recorded.Header())
	w.Header().Set("Content-Length", fmt.Sprint(recorded.Body.Len()))
	w.WriteHeader(recorded.Code)
}

// What a registry has may be bad altogether.
func TestRegistryContent(t *testing.T) {
	r := newKeyring(t)
	first, second := r.sign(t, built(t, "dev", 1), "active"), r.sign(t, built(t, "operations", 2), "active")
	rows := append(hostile(t, r, first, second),
		bad{"other content instead of a bundle", []byte("FROM scratch"), "gzip"})
	var table [][]string
	for _, row := range rows {
		table = append(table, []string{row.name, row.want})
		t.Run(row.name, func(t *testing.T) {
			d := newDepot(t)
			put := func(b *bundles.Bundle, content []byte) {
				_, err := Push(t.Context(), b, content, PushOptions{Location: d.at("a/b/policies:v1"), PlainHTTP: true})
				check(t, err)
			}
			put(first, packed(t, first))
			l := listen(t, Options{Location: d.at("a/b/policies:v1"), Keys: r.keys, PlainHTTP: true})
			l.survives(first.Manifest.Revision, second.Manifest.Revision,
				func() { put(second, row.content) }, func() { put(second, packed(t, second)) }, row.want)
		})
	}
	documented(t, table)
}

func TestRegistryAsksOnce(t *testing.T) {
	d := newDepot(t)
	pushed := d.push(t, built(t, "dev", 1), "policies:latest")
	if again := d.push(t, built(t, "dev", 1), "policies:latest"); again != pushed {
		t.Errorf("pushed again: got %+v, want %+v", again, pushed)
	}
	for _, location := range []string{d.at("policies:latest"), d.at("policies@" + pushed.Manifest)} {
		l := listen(t, Options{Location: location, PlainHTTP: true})
		check(t, l.step())
		check(t, l.step())
		if len(l.delivered) != 1 || l.Status().Tag != pushed.Manifest {
			t.Errorf("%s: got %d deliveries and tag %s, want 1 and %s", location, len(l.delivered), l.Status().Tag, pushed.Manifest)
		}
	}
}

// OPA's own downloader reads what was pushed and verifies it.
func TestStockDownloads(t *testing.T) {
	d := newDepot(t)
	want := built(t, "dev", 1)
	d.push(t, want, "policies:latest")
	client, err := rest.New(fmt.Appendf(nil, `{"name": "depot", "url": %q, "type": "oci"}`, d.URL), nil, rest.Logger(logging.NewNoOpLogger()))
	check(t, err)
	manual := plugins.TriggerManual
	config := download.Config{Trigger: &manual}
	check(t, config.ValidateAndInjectDefaults())
	var got string
	downloader := download.NewOCI(config, client, strings.TrimPrefix(d.at("policies:latest"), "oci://"), t.TempDir()).
		WithCallback(func(_ context.Context, u download.Update) error {
			if u.Bundle != nil {
				got = u.Bundle.Manifest.Revision
			}
			return u.Error
		})
	check(t, downloader.Trigger(t.Context()))
	if got != want.Manifest.Revision {
		t.Errorf("got %q, want %q", got, want.Manifest.Revision)
	}
}

func TestRegistryCredentials(t *testing.T) {
	b := built(t, "dev", 1)
	d := newDepot(t)
	d.push(t, b, "policies:latest")
	d.password = "hunter2"
	host := strings.TrimPrefix(d.URL, "http://")
	docker := func(password string) func(*testing.T) Options {
		return func(t *testing.T) Options {
			dir := t.TempDir()
			config := fmt.Sprintf(`{"auths": {%q: {"username": "robot", "password": %q}}}`, host, password)
			check(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o600))
			t.Setenv("DOCKER_CONFIG", dir)
			return Options{}
		}
	}
	rows := []struct {
		name string
		o    func(t *testing.T) Options
		want string
	}{
		{"none", func(*testing.T) Options { return Options{} }, "credential not found"},
		{"of docker", docker("hunter2"), ""},
		{"wrong ones of docker", docker("hunter3"), "401"},
		{"in a file", func(t *testing.T) Options {
			path := filepath.Join(t.TempDir(), "password")
			check(t, os.WriteFile(path, []byte("hunter2\n"), 0o600))
			return Options{Credentials: Credentials{User: "robot", PasswordFile: path}}
		}, ""},
		{"in no file", func(*testing.T) Options {
			return Options{Credentials: Credentials{User: "robot", PasswordFile: "nowhere"}}
		}, "password"},
		{"given", func(*testing.T) Options { return Options{Credentials: Credentials{User: "robot", Password: "hunter2"}} }, ""},
		{"wrong", func(*testing.T) Options { return Options{Credentials: Credentials{User: "robot", Password: "hunter3"}} }, "401"},
		{"of a service", func(t *testing.T) Options {
			t.Setenv("DEPOT_PASSWORD", "robot:hunter2")
			config, err := parseConfig(fmt.Appendf(nil, "services: {d: {url: %q, type: oci, credentials: {bearer: {scheme: Basic, token: \"${DEPOT_PASSWORD}\"}}}}", d.URL))
			check(t, err)
			return Options{Config: config}
		}, ""},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Setenv("DOCKER_CONFIG", t.TempDir())
			o := row.o(t)
			o.Location, o.PlainHTTP = d.at("policies:latest"), true
			from := listen(t, o)
			err := from.step()
			wantError(t, err, row.want)
			if row.want == "" && from.requests.Load() < 3 {
				t.Errorf("observed %d requests, want those of the reference, the manifest and the layer", from.requests.Load())
			}
			_, pushed := Push(t.Context(), b, packed(t, b), PushOptions{Location: o.Location, Config: o.Config, Credentials: o.Credentials, PlainHTTP: true})
			wantError(t, pushed, row.want)
			if said := fmt.Sprintf("%v %v %v %+v %#v", err, pushed, o.Credentials, o.Credentials, o.Credentials); strings.Contains(said, "hunter") {
				t.Errorf("a password is shown: %s", said)
			}
		})
	}
}

func TestPushRefuses(t *testing.T) {
	d := newDepot(t)
	b := built(t, "dev", 1)
	rows := []struct {
		name     string
		location string
		plain    bool
		want     string
	}{
		{"a tag", d.at("policies:v1"), true, ""},
		{"TLS where the server has none", d.at("policies:v1"), false, "does not speak TLS"},
		{"a digest", d.at("policies@sha256:" + strings.Repeat("0", 64)), true, "named by a tag"},
		{"no tag", d.at("policies"), true, "oci://REGISTRY/REPOSITORY:TAG"},
		{"no repository", d.at(""), true, "oci://REGISTRY/REPOSITORY:TAG"},
		{"another scheme", d.URL + "/policies:v1", true, "oci://"},
		{"nothing", "", true, "no location"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			_, err := Push(t.Context(), b, packed(t, b), PushOptions{Location: row.location, PlainHTTP: row.plain})
			wantError(t, err, row.want)
		})
	}
}

// A push that fails half way leaves the tag where it was.
func TestPushFails(t *testing.T) {
	first, second := built(t, "dev", 1), built(t, "operations", 2)
	for _, step := range []struct{ name, method, path string }{
		{"the blobs", http.MethodPost, "/blobs/uploads/"},
		{"the end of a blob", http.MethodPut, "/blobs/uploads/"},
		{"the manifest", http.MethodPut, "/manifests/"},
	} {
		t.Run(step.name, func(t *testing.T) {
			d := newDepot(t)
			before := d.push(t, first, "policies:v1")
			fault := func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
				if r.Method != step.method || !strings.Contains(r.URL.Path, step.path) {
					return false
				}
				http.Error(w, "disk full", http.StatusInsufficientStorage)
				return true
			}
			d.fault.Store(&fault)
			_, err := Push(t.Context(), second, packed(t, second), PushOptions{Location: d.at("policies:v1"), PlainHTTP: true})
			wantError(t, err, "507")
			d.fault.Store(nil)
			l := listen(t, Options{Location: d.at("policies:v1"), PlainHTTP: true})
			check(t, l.step())
			if l.last() != first.Manifest.Revision || l.Status().Tag != before.Manifest {
				t.Errorf("got revision %s, want %s", l.last(), first.Manifest.Revision)
			}
			d.push(t, second, "policies:v1")
			check(t, l.step())
			if got, want := l.last(), second.Manifest.Revision; got != want {
				t.Errorf("pushed again: got %s, want %s", got, want)
			}
		})
	}
}

func TestFiles(t *testing.T) {
	r := newKeyring(t)
	first, second := r.sign(t, built(t, "dev", 1), "active"), r.sign(t, built(t, "operations", 2), "next")
	forms := map[string]func(path string, b *bundles.Bundle) error{
		"tarball": func(path string, b *bundles.Bundle) error {
			return os.WriteFile(path, packed(t, b), 0o644)
		},
		"folder": func(path string, b *bundles.Bundle) error { return b.WriteDir(path) },
	}
	unsigned := *second
	unsigned.Signatures = nil
	faults := map[string]struct {
		fault func(path string, write func(string, *bundles.Bundle) error) error
		want  string
	}{
		"missing":  {func(path string, _ func(string, *bundles.Bundle) error) error { return os.RemoveAll(path) }, "no such file"},
		"unsigned": {func(path string, write func(string, *bundles.Bundle) error) error { return write(path, &unsigned) }, "not signed"},
		"device": {func(path string, _ func(string, *bundles.Bundle) error) error {
			check(t, os.RemoveAll(path))
			return os.Symlink("/dev/null", path)
		}, "neither a file nor a folder"},
	}
	for form, write := range forms {
		for name, f := range faults {
			t.Run(form+"/"+name, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "bundle")
				check(t, write(path, first))
				l := listen(t, Options{Location: "file://" + path, Keys: r.keys})
				l.survives(first.Manifest.Revision, second.Manifest.Revision,
					func() { check(t, f.fault(path, write)) },
					func() {
						if name == "device" {
							check(t, os.Remove(path))
						}
						check(t, write(path, second))
					}, f.want)
				check(t, l.step())
				if got := len(l.delivered); got != 2 {
					t.Errorf("untouched: got %d deliveries, want 2", got)
				}
				if got := l.Status().Key; got != "next" {
					t.Errorf("signed by: got %q, want %q", got, "next")
				}
			})
		}
	}
	for _, row := range hostile(t, r, first, second) {
		t.Run("tarball/"+row.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "bundle.tar.gz")
			check(t, os.WriteFile(path, packed(t, first), 0o644))
			l := listen(t, Options{Location: path, Keys: r.keys})
			l.survives(first.Manifest.Revision, second.Manifest.Revision,
				func() { check(t, os.WriteFile(path, row.content, 0o644)) },
				func() { check(t, os.WriteFile(path, packed(t, second), 0o644)) }, row.want)
		})
	}
	swapped, revoked := *second, r.sign(t, second, "revoked")
	swapped.Signatures = first.Signatures
	add := func(name string) func(string) error {
		return func(path string) error { return os.WriteFile(filepath.Join(path, name), nil, 0o644) }
	}
	for name, f := range map[string]struct {
		bundle *bundles.Bundle
		change func(path string) error
		want   string
	}{
		"signature of another bundle": {&swapped, func(string) error { return nil }, "not what was signed"},
		"signature by a revoked key":  {revoked, func(string) error { return nil }, `key "revoked", which is revoked`},
		"bundle with a delta":         {second, add("patch.json"), `"patch.json": a delta bundle`},
		"symbolic link": {second, func(path string) error {
			return os.Symlink("access/access.rego", filepath.Join(path, "writ/x.rego"))
		}, `"writ/x.rego": not a regular file`},
		"symbolic link to a folder": {second, func(path string) error {
			return os.Symlink("access", filepath.Join(path, "writ/more"))
		}, `"writ/more": not a regular file`},
		"names that differ only in case": {second, add("writ/access/Access.rego"), "only in case"},
		"additional file":                {second, add("writ/x.rego"), `"writ/x.rego" is in the bundle and not signed`},
		"missing file": {second, func(path string) error {
			return os.Remove(filepath.Join(path, "writ/access/access.rego"))
		}, `"writ/access/access.rego" is signed and not in the bundle`},
	} {
		t.Run("folder/"+name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "bundle")
			check(t, first.WriteDir(path))
			l := listen(t, Options{Location: path, Keys: r.keys})
			l.survives(first.Manifest.Revision, second.Manifest.Revision,
				func() {
					check(t, os.RemoveAll(path))
					check(t, f.bundle.WriteDir(path))
					check(t, f.change(path))
				},
				func() {
					check(t, os.RemoveAll(path))
					check(t, second.WriteDir(path))
				}, f.want)
		})
	}
	t.Run("half written", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "bundle.tar.gz")
		check(t, os.WriteFile(path, packed(t, first), 0o644))
		l := listen(t, Options{Location: path, Keys: r.keys})
		whole := packed(t, second)
		l.survives(first.Manifest.Revision, second.Manifest.Revision,
			func() { check(t, os.WriteFile(path, whole[:len(whole)/2], 0o644)) },
			func() { check(t, os.WriteFile(path, whole, 0o644)) }, "EOF")
	})
}

func TestOpenRefuses(t *testing.T) {
	rows := []struct{ name, location, config, want string }{
		{"a path", "bundle.tar.gz", "", ""},
		{"nothing", "", "", "no location"},
		{"a password", "https://robot:hunter2@registry.example/b", "", "do not belong into a location"},
		{"no URL", "https://%zz:hunter2/", "", "not a URL"},
		{"no host", "https:///b.tar.gz", "", "not a URL"},
		{"another scheme", "ftp://registry.example/b.tar.gz", "", "https, http, oci or a file"},
		{"a registry without a tag", "oci://registry.example/b", "", "REPOSITORY:TAG"},
		{"a file on a host", "file://host/b.tar.gz", "", "file:///PATH"},
		{"a bundle of a service", "", "services: {s: {url: https://s.example}}\nbundles: {b: {service: s, resource: b.tar.gz}}", ""},
		{"services as a list", "", "services: [{name: s, url: https://s.example}]\nbundles: {b: {}}", ""},
		{"JSON", "", `{"services": {"s": {"url": "https://s.example/x/"}}, "bundles": {"b": {"resource": "/b.tar.gz"}}}`, ""},
		{"a registry's service", "", "services: {s: {url: https://s.example, type: oci}}\nbundles: {b: {resource: s.example/r:v1}}", ""},
		{"an unknown service", "", "services: {s: {url: https://s.example}}\nbundles: {b: {service: t}}", `service "t"`},
		{"two bundles", "", "services: {s: {url: https://s.example}}\nbundles: {a: {}, b: {}}", "2 bundles"},
		{"keys", "", "keys: {k: {key: x}}", "keys are given by --keys"},
		{"a bundle's keys", "", "services: {s: {url: https://s.example}}\nbundles: {b: {signing: {keyid: k}}}", "signing"},
		{"a service without URL", "", "services: {s: {}}", "services.s"},
		{"two credentials", "", "services: {s: {url: https://s.example, credentials: {bearer: {token: x}, client_tls: {cert: y}}}}", "one credential"},
		{"a variable that is not set", "", "services: {s: {url: https://s.example, credentials: {bearer: {token: \"${WRIT_NO_SUCH}\"}}}}", "WRIT_NO_SUCH is not set"},
		{"wrong delays", "", "services: {s: {url: https://s.example}}\nbundles: {b: {polling: {min_delay_seconds: 5, max_delay_seconds: 1}}}", "polling"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			o := Options{Location: row.location}
			var err error
			if row.config != "" {
				o.Config, err = parseConfig([]byte(row.config))
			}
			if err == nil {
				_, err = Open(o)
			}
			wantError(t, err, row.want)
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("a password is shown: %v", err)
			}
		})
	}
}

// The credentials of a service go to no other host.
func TestServiceOfLocation(t *testing.T) {
	config, err := parseConfig([]byte("services: {a: {url: https://a.example/x}, b: {url: https://a.example}, r: {url: https://r.example, type: oci}}"))
	check(t, err)
	rows := []struct{ location, want string }{
		{"https://a.example/x/b.tar.gz", "a"},
		{"https://a.example/xy/b.tar.gz", "b"},
		{"https://a.example.evil/b.tar.gz", ""},
		{"http://a.example/b.tar.gz", ""},
		{"oci://r.example/p:v1", "r"},
		{"oci://a.example/p:v1", ""},
		{"oci://r.example.evil/p:v1", ""},
	}
	for _, row := range rows {
		got, _, err := config.resolve(row.location)
		check(t, err)
		if got != config.services[row.want] {
			t.Errorf("%s: got %v, want service %q", row.location, got, row.want)
		}
	}
}

func TestTooMuch(t *testing.T) {
	transfer := newTransfer(t.Context(), func() {}, io.NopCloser(bytes.NewReader(make([]byte, 100))), time.Minute)
	transfer.left = 99
	_, err := io.ReadAll(transfer)
	wantError(t, err, "bytes to transfer")
	check(t, transfer.Close())
}
