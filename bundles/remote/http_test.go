package remote

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/tests/gate"
)

// server is a bundle server as OPA's documentation has it: ETags, and answers that are
// held until there is something new. A fault, if set, answers in its place.
type server struct {
	*httptest.Server
	mu      sync.Mutex
	content []byte
	changed chan struct{}
	fault   http.HandlerFunc
	holds   bool
	noTags  bool
	asked   []*http.Request
}

func serve(t testing.TB, content []byte) *server {
	t.Helper()
	s := &server{content: content, changed: make(chan struct{})}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *server) set(content []byte, fault http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.content, s.fault = content, fault
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked = append(s.asked, r)
	content, changed, fault := s.content, s.changed, s.fault
	s.mu.Unlock()
	if fault != nil {
		fault(w, r)
		return
	}
	if s.holds {
		w.Header().Set("Content-Type", holdsType)
	}
	if tag := tagOf(content); !s.noTags {
		if r.Header.Get("If-None-Match") == tag && s.holds {
			select {
			case <-changed:
				s.mu.Lock()
				content = s.content
				s.mu.Unlock()
			case <-r.Context().Done():
				return
			}
		}
		w.Header().Set("ETag", tagOf(content))
		if r.Header.Get("If-None-Match") == tagOf(content) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	_, _ = w.Write(content)
}

func tagOf(content []byte) string {
	return fmt.Sprintf("%q", fmt.Sprintf("%x", sha256.Sum256(content)))
}

func TestHTTPAsksOnce(t *testing.T) {
	first, second := built(t, "dev", 1), built(t, "operations", 2)
	s := serve(t, packed(t, first))
	l := listen(t, Options{Location: s.URL + "/bundle.tar.gz"})
	for range 3 {
		check(t, l.step())
	}
	if len(l.delivered) != 1 || len(s.asked) != 3 || l.requests.Load() != 3 {
		t.Errorf("got %d deliveries of %d answers, %d observed; want 1 of 3", len(l.delivered), len(s.asked), l.requests.Load())
	}
	if got := s.asked[1].Header.Get("Prefer"); got != "modes=snapshot;wait=30" {
		t.Errorf("Prefer: got %q, want snapshots and a wait", got)
	}
	s.set(packed(t, second), nil)
	check(t, l.step())
	if got, want := l.last(), second.Manifest.Revision; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	// Only the ETag of a delivered bundle is sent: a rejected bundle is requested again.
	l.refuse = errors.New("not now")
	s.set(packed(t, first), nil)
	wantError(t, l.step(), "not now")
	l.refuse = nil
	check(t, l.step())
	if got, want := l.last(), first.Manifest.Revision; got != want {
		t.Errorf("requested again after a rejection: got %s, want %s", got, want)
	}
}

// A fault that does not change the bundle ends when the same bundle is found again.
// Again delivers a bundle a second time.
func TestFindsTheSameBundle(t *testing.T) {
	first := built(t, "dev", 1)
	s := serve(t, packed(t, first))
	current := 0
	l := listen(t, Options{Location: s.URL, Current: func() { current++ }})
	check(t, l.step())
	s.set(nil, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	wantError(t, l.step(), "502")
	if current != 0 || len(l.failures) != 1 {
		t.Errorf("got %d reports that the bundle is current and %d failures, want 0 and 1", current, len(l.failures))
	}
	s.set(packed(t, first), nil)
	check(t, l.step())
	if current != 1 || len(l.delivered) != 1 || l.Status().LastError != "" {
		t.Errorf("got %d reports that the bundle is current after %d deliveries, status %+v", current, len(l.delivered), l.Status())
	}
	l.Again()
	check(t, l.step())
	check(t, l.step())
	if len(l.delivered) != 2 {
		t.Errorf("after Again: got %d deliveries, want 2", len(l.delivered))
	}
}

type httpFault struct {
	name  string
	fault http.HandlerFunc
	want  string
}

// Each fault is injected between two good bundles.
func TestHTTPFaults(t *testing.T) {
	r := newKeyring(t)
	first, second := r.sign(t, built(t, "dev", 1), "active"), r.sign(t, built(t, "operations", 2), "next")
	good := packed(t, second)
	body := func(content []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(content) }
	}
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "secret details", code) }
	}
	cut := func(before string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			connection, buffered, err := w.(http.Hijacker).Hijack()
			check(t, err)
			_, _ = buffered.WriteString(before)
			_ = buffered.Flush()
			connection.Close()
		}
	}
	drip := func(content []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write(content)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
	}
	corrupted := bytes.Clone(good)
	corrupted[len(corrupted)/2] ^= 0x10
	rows := []httpFault{
		{"connection closed", cut(""), "EOF"},
		{"closed within the headers", cut("HTTP/1.1 200 OK\r\nContent-Le"), "connection broken"},
		{"closed within the body", cut(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(good), good[:len(good)/2])), "EOF"},
		{"closed between chunks", cut(fmt.Sprintf("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", len(good)/2, good[:len(good)/2])), "EOF"},
		{"SSH instead of HTTP", cut("SSH-2.0-OpenSSH_9.9\r\n"), "malformed"},
		{"truncated bundle", body(good[:len(good)/2]), "EOF"},
		{"bundle without its last byte", body(good[:len(good)-1]), "EOF"},
		{"corrupted bundle", body(corrupted), "read the bundle"},
		{"data after the bundle", body(append(bytes.Clone(good), "more"...)), "read the bundle"},
		{"empty body", body(nil), "EOF"},
		{"HTML page", body([]byte("<html>please log in</html>")), "gzip"},
		{"404 Not Found", status(http.StatusNotFound), "returned 404 Not Found"},
		{"403 Forbidden", status(http.StatusForbidden), "returned 403 Forbidden"},
		{"500 Internal Server Error", status(http.StatusInternalServerError), "returned 500 Internal Server Error"},
		{"429 Too Many Requests", status(http.StatusTooManyRequests), "returned 429"},
		{"204 No Content", status(http.StatusNoContent), "returned 204"},
		{"redirect loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) }, "redirects"},
		{"no response", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "timeout awaiting response headers"},
		{"stalled body", drip(good[:100]), "stalled"},
	}
	for _, h := range hostile(t, r, first, second) {
		rows = append(rows, httpFault{h.name, body(h.content), h.want})
	}
	var table [][]string
	for _, row := range rows {
		table = append(table, []string{row.name, row.want})
		t.Run(row.name, func(t *testing.T) {
			t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "full")) // a download is not stored in a file
			s := serve(t, packed(t, first))
			config, err := parseConfig(fmt.Appendf(nil, "services: {s: {url: %q, response_header_timeout_seconds: 1}}", s.URL))
			check(t, err)
			l := listen(t, Options{Location: s.URL + "/bundle.tar.gz", Config: config, Keys: r.keys, Wait: -1, Stall: time.Second})
			l.survives(first.Manifest.Revision, second.Manifest.Revision,
				func() { s.set(nil, row.fault) }, func() { s.set(good, nil) }, row.want)
			if strings.Contains(l.Status().LastError, "secret details") {
				t.Error("the status contains the body of the response")
			}
		})
	}
	documented(t, append(table, serverRestarts, tooSlow, refused))
}

// Faults that have a test of their own.
var (
	serverRestarts = []string{"restart of the server", "refused"}
	tooSlow        = []string{"slow endless body", "timed out"}
	refused        = []string{"lower sequence number", "a lower sequence number"}
)

// The server stops and starts again on the same port.
func TestHTTPServerRestarts(t *testing.T) {
	first, second := built(t, "dev", 1), built(t, "operations", 2)
	s := serve(t, packed(t, first))
	address := s.Listener.Addr().String()
	l := listen(t, Options{Location: s.URL + "/bundle.tar.gz"})
	l.survives(first.Manifest.Revision, second.Manifest.Revision, s.Close, func() {
		again := &server{content: packed(t, second), changed: make(chan struct{})}
		again.Server = &httptest.Server{Listener: listenOn(t, address), Config: &http.Server{Handler: again}}
		again.Start()
		t.Cleanup(again.Close)
	}, serverRestarts[1])
}

// The time of a transfer is limited, and a bundle that deliver rejects changes nothing.
func TestHTTPLimits(t *testing.T) {
	gate.Only(t)
	first, second := built(t, "dev", 1), built(t, "operations", 2)
	t.Run("too long", func(t *testing.T) {
		s := serve(t, packed(t, first))
		l := listen(t, Options{Location: s.URL, Wait: -1, Timeout: time.Second})
		l.survives(first.Manifest.Revision, second.Manifest.Revision, func() {
			s.set(nil, func(w http.ResponseWriter, r *http.Request) {
				ticker := time.NewTicker(10 * time.Millisecond)
				defer ticker.Stop()
				content := packed(t, second)
				for i := 0; r.Context().Err() == nil; i = (i + 1) % len(content) {
					_, _ = w.Write(content[i : i+1])
					_ = http.NewResponseController(w).Flush()
					<-ticker.C
				}
			})
		}, func() { s.set(packed(t, second), nil) }, tooSlow[1])
	})
	t.Run("refused", func(t *testing.T) {
		s := serve(t, packed(t, first))
		l := listen(t, Options{Location: s.URL})
		l.survives(first.Manifest.Revision, second.Manifest.Revision, func() {
			l.refuse = errors.New(refused[1])
			s.set(packed(t, second), nil)
		}, func() { l.refuse = nil }, refused[1])
		if len(l.failures) != 0 {
			t.Errorf("got failures %v, want none: deliver already knows its error", l.failures)
		}
	})
	t.Run("not modified, unasked", func(t *testing.T) {
		s := serve(t, nil)
		s.set(nil, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotModified) })
		wantError(t, listen(t, Options{Location: s.URL}).step(), "304")
	})
	t.Run("holds nothing", func(t *testing.T) {
		s := serve(t, packed(t, first))
		l := listen(t, Options{Location: s.URL})
		check(t, l.step())
		got, err := l.once(t.Context(), nil)
		check(t, err)
		if want := (pollResult{}); got != want {
			t.Errorf("got %+v, want nothing new and nothing held", got)
		}
	})
	t.Run("without tags", func(t *testing.T) {
		s := serve(t, packed(t, first))
		s.noTags = true
		l := listen(t, Options{Location: s.URL})
		check(t, l.step())
		check(t, l.step())
		if got := s.asked[1].Header.Get("If-None-Match"); got != "" {
			t.Errorf("If-None-Match: got %q, want none", got)
		}
	})
}

// A fetch that fails is in the log of a feed whose failures are not handled elsewhere.
func TestFailureIsLogged(t *testing.T) {
	s := serve(t, nil)
	s.set(nil, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	var log bytes.Buffer
	feed, err := Open(Options{Location: s.URL + "/bundle.tar.gz", Logger: slog.New(slog.NewTextHandler(&log, nil))})
	check(t, err)
	_, err = feed.once(t.Context(), nil)
	wantError(t, err, "403")
	if got := log.String(); strings.Count(got, "no bundle") != 1 || !strings.Contains(got, "403") {
		t.Errorf("logged %q, want the failure once", got)
	}
}

// A server that holds its answers is asked at once again, any other one after a pause.
func TestRunHolds(t *testing.T) {
	first, second := built(t, "dev", 1), built(t, "operations", 2)
	s := serve(t, packed(t, first))
	s.holds = true
	feed, err := Open(Options{Location: s.URL + "/bundle.tar.gz", Wait: time.Minute})
	check(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	delivered, ended := make(chan string), make(chan error)
	go func() {
		ended <- feed.Run(ctx, func(_ context.Context, b *bundles.Bundle) error {
			delivered <- b.Manifest.Revision
			return nil
		})
	}()
	for _, want := range []*bundles.Bundle{first, second, first} {
		s.set(packed(t, want), nil)
		if got := <-delivered; got != want.Manifest.Revision {
			t.Errorf("got %s, want %s", got, want.Manifest.Revision)
		}
	}
	cancel()
	wantError(t, <-ended, "")
}

func TestPause(t *testing.T) {
	f, err := Open(Options{Location: "bundle.tar.gz", Every: 100 * time.Second})
	check(t, err)
	rows := []struct {
		name        string
		result      pollResult
		failures    int
		took        time.Duration
		least, most time.Duration
	}{
		{"nothing new", pollResult{}, 0, 0, 90 * time.Second, 110 * time.Second},
		{"a new one", pollResult{changed: true}, 0, 0, 90 * time.Second, 110 * time.Second},
		{"held, a new one", pollResult{changed: true, longPolled: true}, 0, 0, 0, 0},
		{"held and nothing new", pollResult{longPolled: true}, 0, 30 * time.Second, 0, 0},
		{"not held, as it says", pollResult{longPolled: true}, 0, 0, 90 * time.Second, 110 * time.Second},
		{"a failure", pollResult{}, 1, 0, time.Second / 2, time.Second},
		{"a second one", pollResult{}, 2, 0, time.Second, 2 * time.Second},
		{"many", pollResult{}, 1000, 0, 50 * time.Second, 100 * time.Second},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			for range 100 {
				if got := f.pause(row.result, row.failures, row.took); got < row.least || got > row.most {
					t.Fatalf("got %v, want between %v and %v", got, row.least, row.most)
				}
			}
		})
	}
}

// A poke ends a pause.
func TestPoke(t *testing.T) {
	first, second := built(t, "dev", 1), built(t, "operations", 2)
	s := serve(t, packed(t, first))
	feed, err := Open(Options{Location: s.URL, After: func(time.Duration) <-chan time.Time { return nil }})
	check(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	delivered := make(chan string)
	go feed.Run(ctx, func(_ context.Context, b *bundles.Bundle) error {
		delivered <- b.Manifest.Revision
		return nil
	})
	<-delivered
	s.set(packed(t, second), nil)
	feed.Poke()
	if got := <-delivered; got != second.Manifest.Revision {
		t.Errorf("got %s, want %s", got, second.Manifest.Revision)
	}
}

// A signed query and a token are used and never shown.
func TestSecretsAreNotShown(t *testing.T) {
	dir := t.TempDir()
	check(t, os.WriteFile(filepath.Join(dir, "token"), []byte("hunter2"), 0o600))
	s := serve(t, packed(t, built(t, "dev", 1)))
	config, err := parseConfig(fmt.Appendf(nil, "services: {s: {url: %q, credentials: {bearer: {token_path: %q}}}}", s.URL, filepath.Join(dir, "token")))
	check(t, err)
	l := listen(t, Options{Location: s.URL + "/b.tar.gz?X-Signature=hunter2", Config: config})
	check(t, l.step())
	if got := s.asked[0]; got.Header.Get("Authorization") != "Bearer hunter2" || got.URL.Query().Get("X-Signature") != "hunter2" {
		t.Errorf("got %v %v, want the token and the signature", got.URL, got.Header)
	}
	s.Close()
	err = l.step()
	if said := fmt.Sprintf("%v %+v", err, l.Status()); strings.Contains(said, "hunter2") || !strings.Contains(said, "refused") {
		t.Errorf("got %s, want the cause and no secret", said)
	}
}

func TestFetchIsUnread(t *testing.T) {
	s := serve(t, []byte("anything"))
	feed, err := Open(Options{Location: s.URL})
	check(t, err)
	body, err := feed.Fetch(t.Context())
	check(t, err)
	defer body.Close()
	if got, err := io.ReadAll(body); err != nil || string(got) != "anything" {
		t.Errorf("got %q, %v, want all of it", got, err)
	}
}
