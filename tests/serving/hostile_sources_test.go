package serving

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/bundles/remote"
	"github.com/writ-policy/writ/tests/gate"
)

// hostility is an answer of a server of bundles that means harm.
type hostility struct {
	name   string
	within time.Duration // in which the status says that it fails
	growth int           // of the memory in bytes; 0: maxGrowth
	answer http.HandlerFunc
}

// maxUnpacked is the most that a bundle may unpack to.
const maxUnpacked = 1 << 30

// forever writes a piece until the client has had enough.
func forever(w io.Writer, r *http.Request, piece []byte) {
	for r.Context().Err() == nil {
		if _, err := w.Write(piece); err != nil {
			return
		}
	}
}

// hostilities returns answers to a request for content, of a server of any kind. Those that
// take long are attacked with -each.
func hostilities(t *testing.T) []hostility {
	const soon = 5 * time.Second
	silent, err := net.Listen("tcp", "127.0.0.1:0") // a private address where connections are accepted and not answered
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	zeros := make([]byte, 64<<10)
	all := []hostility{
		{"a bomb of one file", 20 * time.Second, maxUnpacked + 128<<20, func(w http.ResponseWriter, r *http.Request) {
			packed, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
			_ = tar.NewWriter(packed).WriteHeader(&tar.Header{Name: "writ/access/bomb.rego", Typeflag: tar.TypeReg, Size: 1 << 30})
			forever(packed, r, zeros)
		}},
		{"an error without an end", soon, 0, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			forever(w, r, zeros)
		}},
	}
	if !*attackEach {
		return all
	}
	return append(all,
		hostility{"endless zeros", soon, 0, func(w http.ResponseWriter, r *http.Request) { forever(w, r, zeros) }},
		hostility{"members without content", time.Minute, 0, func(w http.ResponseWriter, r *http.Request) {
			empty := &strings.Builder{}
			_ = gzip.NewWriter(empty).Close()
			forever(w, r, []byte(strings.Repeat(empty.String(), 1000)))
		}},
		hostility{"a byte a second", 40 * time.Second, 0, func(w http.ResponseWriter, r *http.Request) {
			const header, block = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff", "\x00\x00\x00\xff\xff" // of gzip: begins, and never ends
			content := header + strings.Repeat(block, 1000)
			for tick := time.NewTicker(time.Second); r.Context().Err() == nil; <-tick.C {
				_, _ = io.WriteString(w, content[:1])
				_ = http.NewResponseController(w).Flush()
				content = content[1:]
			}
		}},
		hostility{"a redirect to a private address", time.Minute, 0, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://"+silent.Addr().String()+"/latest/meta-data", http.StatusTemporaryRedirect)
		}})
}

// Whatever a server of bundles answers, the last good policy serves, the status says so
// within a bound, memory is bounded, and the end of the process does not wait for it.
func TestHostileServersOfBundles(t *testing.T) {
	gate.Only(t)
	b := newBuilder(t)
	good, next := b.build("user-0", 1, "now"), b.build("user-1", 2, "now")
	t.Setenv("AWS_ACCESS_KEY_ID", "a")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "b")
	t.Setenv("AWS_REGION", "eu-1")
	steps := []string{"blobs"}
	if *attackEach {
		steps = append(steps, "manifests")
	}
	for _, h := range hostilities(t) {
		t.Run("bucket/"+h.name, func(t *testing.T) {
			f := newFlaky(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(good) }))
			config := writeFile(t, filepath.Join(t.TempDir(), "services.yaml"),
				fmt.Sprintf("services: {s3: {url: %q, credentials: {s3_signing: {environment_credentials: {}}}}}\n", f.URL))
			h.meet(t, func() { f.fault.Store(&h.answer) }, "--bundle", f.URL+"/bucket/bundle.tar.gz", "--bundle-config", config, "--keys", b.keys)
		})
		for _, step := range steps {
			t.Run("registry/"+step+"/"+h.name, func(t *testing.T) {
				f := newFlaky(t, registry.New(registry.Logger(log.New(io.Discard, "", 0))))
				at := "oci://" + strings.TrimPrefix(f.URL, "http://") + "/policies:v1"
				push := func(content []byte) {
					if _, err := remote.Push(t.Context(), &bundles.Bundle{}, content, remote.PushOptions{Location: at, PlainHTTP: true}); err != nil {
						t.Fatal(err)
					}
				}
				push(good)
				fault := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Method != http.MethodGet || !strings.Contains(r.URL.Path, "/"+step+"/") {
						f.real.ServeHTTP(w, r)
						return
					}
					recorded := httptest.NewRecorder()
					f.real.ServeHTTP(recorded, r)
					// what a client checks before it reads
					maps.Copy(w.Header(), recorded.Header())
					w.Header().Del("Content-Length")
					h.answer(w, r)
				})
				h.meet(t, func() { push(next); f.fault.Store(&fault) }, "--bundle", at, "--plain-http", "--keys", b.keys)
			})
		}
	}
}

// meet starts a server, begins the attack, and ends the server while it lasts.
func (h hostility) meet(t *testing.T, begin func(), args ...string) {
	address, running := startProcess(t, append(args, "--every", "1s", "--drain", "0s")...)
	_, revision, _ := mayGet(t, address, "user-0")
	before := memoryOf(t, running, "VmRSS")
	begin()
	began := time.Now()
	waitFor(t, func() bool { return statusOf(t, address)["degraded"] == true })
	took := time.Since(began)
	growth := memoryOf(t, running, "VmHWM") - before
	t.Logf("degraded after %s, %d MiB above %d MiB: %v", took.Round(time.Millisecond), growth>>20, before>>20, statusOf(t, address)["lastError"])
	most := cmp.Or(h.growth, maxGrowth)
	if took > h.within || growth > most {
		t.Errorf("degraded after %s, want %s; %d MiB more, want at most %d", took, h.within, growth>>20, most>>20)
	}
	if got, by, status := mayGet(t, address, "user-0"); !got || by != revision || status != http.StatusOK {
		t.Errorf("got %v by revision %s, status %d, want an answer of %s", got, by, status, revision)
	}
	asked := time.NewTimer(1100 * time.Millisecond) // the next request is under way
	<-asked.C
	began = time.Now()
	if err := running.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", running.Pid))
		return err != nil || strings.Contains(string(text), "State:\tZ")
	})
	if took := time.Since(began); took > time.Second {
		t.Errorf("the process ended %s after SIGTERM", took)
	}
}
