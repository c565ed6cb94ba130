package server

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const viewers = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: viewer}
rules:
  - {apiGroups: [""], resources: [pods], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: viewers, namespace: hammer}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: viewer}
subjects:
  - {kind: User, apiGroup: rbac.authorization.k8s.io, name: NAME}
`

// house is a server's files, in a directory of their own.
type house struct {
	t      *testing.T
	dir    string
	config Config
}

func newHouse(t *testing.T) *house {
	h := &house{t: t, dir: t.TempDir(), config: Defaults()}
	h.config.Policies = []string{filepath.Join(h.dir, "policies")}
	h.config.Listen = "127.0.0.1:0"
	h.config.Settle, h.config.Timeouts.Drain = 0, 0
	h.write("policies/viewers.yaml", strings.ReplaceAll(viewers, "NAME", "alice"))
	return h
}

func (h *house) write(name, content string) string {
	h.t.Helper()
	path := filepath.Join(h.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		h.t.Fatal(err)
	}
	// Whole at once: of a file that is written in place an empty one can be read, which
	// is a document too.
	half := filepath.Join(filepath.Dir(path), ".half")
	if err := os.WriteFile(half, []byte(content), 0o600); err != nil {
		h.t.Fatal(err)
	}
	if err := os.Rename(half, path); err != nil {
		h.t.Fatal(err)
	}
	return path
}

// running is a server that runs, and how it ends.
type running struct {
	t      *testing.T
	url    string
	client *http.Client
	stop   context.CancelFunc
	ended  chan error
}

func (h *house) run() *running {
	h.t.Helper()
	address := make(chan net.Addr, 1)
	h.config.Listening = func(a net.Addr) { address <- a }
	s, err := New(h.config)
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(h.t.Context())
	r := &running{t: h.t, client: &http.Client{Transport: &http.Transport{}}, stop: stop, ended: make(chan error, 1)}
	go func() { r.ended <- s.Run(ctx) }()
	scheme := "http://"
	if h.config.TLS.Cert != "" {
		scheme = "https://"
	}
	r.url = scheme + (<-address).String()
	h.t.Cleanup(func() {
		r.client.CloseIdleConnections()
		stop()
	})
	return r
}

func (r *running) get(path string) (int, string) {
	r.t.Helper()
	response, err := r.client.Get(r.url + path)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

func (r *running) allowed(user string) bool {
	r.t.Helper()
	request := `{"user":"` + user + `","verb":"get","resource":"pods","namespace":"hammer","name":"p"}`
	response, err := r.client.Post(r.url+"/v1/decisions/access", "application/json", strings.NewReader(request))
	if err != nil {
		r.t.Fatal(err)
	}
	defer response.Body.Close()
	var d struct{ Allowed bool }
	if err := json.NewDecoder(response.Body).Decode(&d); err != nil {
		r.t.Fatal(err)
	}
	if d.Allowed && response.Header.Get("Writ-Revision") == "" {
		r.t.Error("got no revision in the header")
	}
	return d.Allowed
}

// patience is how long a test waits for what must happen. It is long, so that a busy
// machine does not fail a test.
const patience = time.Minute

// eventually asks until it is so, or the test has taken too long.
func (r *running) eventually(what string, so func() bool) {
	r.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); pause(r.t.Context(), 5*time.Millisecond) {
		if so() {
			return
		}
	}
	r.t.Fatalf("not so: %s", what)
}

func (r *running) isReady() bool { code, _ := r.get("/readyz"); return code == http.StatusOK }

func TestServe(t *testing.T) {
	h := newHouse(t)
	r := h.run()
	r.eventually("ready", r.isReady)
	if !r.allowed("alice") || r.allowed("bob") {
		t.Error("got other decisions than the documents say")
	}
	_, before := r.get("/v1/status")

	h.write("policies/viewers.yaml", strings.ReplaceAll(viewers, "NAME", "bob"))
	r.eventually("the new documents decide", func() bool { return r.allowed("bob") && !r.allowed("alice") })

	h.write("policies/broken.yaml", "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRol\nmetadata: {name: x}\n")
	var status serverStatus
	r.eventually("degraded", func() bool {
		_, body := r.get("/v1/status")
		if err := json.Unmarshal([]byte(body), &status); err != nil {
			t.Fatal(err)
		}
		return status.Degraded
	})
	if !status.Ready || status.Errors != 1 || status.Diagnostics[0].File != "broken.yaml" || strings.Contains(before, status.Revision) {
		t.Errorf("got the status %+v", status)
	}
	if !r.isReady() || !r.allowed("bob") {
		t.Error("the last good revision does not serve on")
	}
	r.eventually("the metrics show the degraded revision", func() bool {
		_, page := r.get("/metrics")
		return strings.Contains(page, "\nwrit_degraded 1\n") && strings.Contains(page, status.Revision)
	})
	r.stop()
	if err := <-r.ended; err != nil {
		t.Errorf("stopped with %v", err)
	}
}

func TestBrokenFromTheStart(t *testing.T) {
	h := newHouse(t)
	h.write("policies/viewers.yaml", "kind: [")
	r := h.run()
	if code, _ := r.get("/healthz"); code != http.StatusOK {
		t.Errorf("got %d from /healthz, want 200", code)
	}
	r.eventually("the attempt is in the status", func() bool {
		_, body := r.get("/v1/status")
		return strings.Contains(body, "viewers.yaml")
	})
	if r.isReady() || r.allowed("alice") {
		t.Error("a server without a revision is ready, or allows")
	}
	h.write("policies/viewers.yaml", strings.ReplaceAll(viewers, "NAME", "alice"))
	r.eventually("ready", r.isReady)
	if !r.allowed("alice") {
		t.Error("the mended documents do not decide")
	}
}

func TestTokensAreReadAgain(t *testing.T) {
	h := newHouse(t)
	h.config.Callers.Tokens = h.write("tokens.csv", "secret-1,alice,1\n")
	r := h.run()
	r.eventually("ready", r.isReady)
	code := func(token string) int {
		request, err := http.NewRequest(http.MethodPost, r.url+"/api/v1/ns/hammer/subjectaccessreviews",
			strings.NewReader(`{"kind":"SubjectAccessReview","apiVersion":"v1","spec":{"verb":"get","resourceKind":"Pod"}}`))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+token)
		response, err := r.client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		return response.StatusCode
	}
	if got := code("secret-1"); got != http.StatusOK {
		t.Fatalf("got %d, want 200", got)
	}
	h.write("tokens.csv", "secret-2,alice,1\n")
	r.eventually("the new token is good", func() bool { return code("secret-2") == http.StatusOK })
	if got := code("secret-1"); got != http.StatusUnauthorized {
		t.Errorf("got %d for a token that was taken away, want 401", got)
	}
}

// A request in flight when the server is stopped is answered, and until
// then the server reports that it is not ready.
func TestDrain(t *testing.T) {
	h := newHouse(t)
	s, err := New(h.config)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	code := func() int {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("GET", "/readyz", nil)
		r.Host = "localhost"
		s.Handler().ServeHTTP(w, r)
		return w.Code
	}
	if got := code(); got != http.StatusOK {
		t.Errorf("got %d, want 200", got)
	}
	s.draining.Store(true)
	if got := code(); got != http.StatusServiceUnavailable {
		t.Errorf("got %d while draining, want 503", got)
	}
}

func TestRequestsInFlightEnd(t *testing.T) {
	h := newHouse(t)
	r := h.run()
	r.eventually("ready", r.isReady)
	body, feed := io.Pipe()
	answered := make(chan int, 1)
	go func() {
		response, err := r.client.Post(r.url+"/v1/decisions/access", "application/json", body)
		if err != nil {
			answered <- 0
			return
		}
		response.Body.Close()
		answered <- response.StatusCode
	}()
	if _, err := feed.Write([]byte(`{"user":"alice",`)); err != nil {
		t.Fatal(err)
	}
	r.eventually("the request is in flight", func() bool {
		_, page := r.get("/metrics")
		return strings.Contains(page, "writ_http_requests_in_flight 2")
	})
	r.stop()
	r.eventually("the listener is closed", func() bool { code, _ := r.get("/healthz"); return code == 0 })
	if _, err := feed.Write([]byte(`"verb":"get","resource":"pods"}`)); err != nil {
		t.Fatal(err)
	}
	feed.Close()
	if got := <-answered; got != http.StatusOK {
		t.Errorf("got %d for the request in flight, want 200", got)
	}
	if err := <-r.ended; err != nil {
		t.Errorf("stopped with %v", err)
	}
}

func TestSlowHeadersAreCutOff(t *testing.T) {
	h := newHouse(t)
	h.config.Timeouts.ReadHeader = 50 * time.Millisecond
	r := h.run()
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("POST /v1/decisions/access HTTP/1.1\r\nHost: localhost\r\n")); err != nil {
		t.Fatal(err)
	}
	if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if answer, err := io.ReadAll(conn); err != nil || bytes.Contains(answer, []byte("200 OK")) {
		t.Errorf("got %q, %v; want the connection closed", answer, err)
	}
}

func TestSlowBodiesAreCutOff(t *testing.T) {
	h := newHouse(t)
	h.config.Timeouts.Read = time.Second
	r := h.run()
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("POST /v1/decisions/access HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")); err != nil {
		t.Fatal(err)
	}
	if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if answer, err := io.ReadAll(conn); err != nil || !bytes.Contains(answer, []byte("408 Request Timeout")) {
		t.Errorf("got %q, %v; want 408 and the connection closed", answer, err)
	}
}

func TestNothingSecretIsLogged(t *testing.T) {
	h := newHouse(t)
	h.config.Callers.Tokens = h.write("tokens.csv", "s3cret,alice,1\n")
	var log syncBuffer
	h.config.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	r := h.run()
	r.eventually("ready", r.isReady)
	request, err := http.NewRequest(http.MethodPost, r.url+"/v1/decisions/access?token=s3cret", strings.NewReader(`{"user":"s3cret"}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer s3cret")
	response, err := r.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	r.get("/nowhere/%0Alevel=ERROR%1b[31m")
	r.stop()
	<-r.ended
	if text := log.String(); strings.Contains(text, "s3cret") || strings.Contains(text, "\x1b") || strings.Contains(text, "\nlevel=ERROR") || !strings.Contains(text, "/v1/decisions/access") {
		t.Errorf("got the log\n%s", text)
	}
}
