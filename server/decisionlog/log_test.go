package decisionlog

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/metrics"
)

// running is a log that runs until stop, with its metrics.
type running struct {
	*Log
	metrics *metrics.Metrics
	stop    func()
}

func run(t *testing.T, o Options) running {
	t.Helper()
	m := metrics.New()
	o.Metrics = m
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	l, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.Run(ctx)
	}()
	stop := sync.OnceFunc(func() {
		cancel()
		<-done
	})
	t.Cleanup(stop)
	return running{l, m, stop}
}

// lost returns the numbers of lost decisions by reason, those that are not zero.
func (r running) lost(t *testing.T) string {
	t.Helper()
	w := httptest.NewRecorder()
	r.metrics.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	var lines []string
	for line := range strings.Lines(w.Body.String()) {
		if rest, ok := strings.CutPrefix(line, `writ_decision_log_lost_total{reason="`); ok && !strings.HasSuffix(rest, " 0\n") {
			lines = append(lines, strings.TrimSpace(rest))
		}
	}
	return strings.Join(lines, ", ")
}

func write(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func event(user string) decision.Event {
	return decision.Event{
		ID: "id-" + user, Point: decision.Access, Revision: "rev-1", RequestedBy: "127.0.0.1:1", Time: time.Unix(1_700_000_000, 0).UTC(),
		Input:  []byte(`{"user":"` + user + `","verb":"get","resource":"pods","labels":{"secret":"hunter2"}}`),
		Result: []byte(`{"allowed":true,"denied":false,"matched":[{"source":"a.yaml:7"},{"source":""}]}`),
	}
}

const policy = `package system.log

import rego.v1

mask contains "/input/labels/secret"

mask contains {"op": "upsert", "path": "/input/resource", "value": "***"} if input.input.user == "bob"

drop if input.input.user == "probe"
`

// Masked values are never in the file, dropped decisions neither, and events have the
// places of the rules and the revision.
func TestFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "decisions.jsonl")
	config := write(t, dir, "opa.yaml", "decision_logs: {}\nlabels: {region: east}\n")
	write(t, dir, "opa.rego", policy)
	r := run(t, Options{File: path, Config: config})
	for _, user := range []string{"alice", "probe", "bob", "\u2028eve"} {
		r.Log.Log(event(user))
	}
	r.stop()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(content, []byte("hunter2")) || bytes.Contains(content, []byte("probe")) || bytes.Contains(content, []byte("\u2028")) {
		t.Errorf("got %s", content)
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	if len(lines) != 3 {
		t.Fatalf("got %d lines, want 3", len(lines))
	}
	var first map[string]any
	if err := json.Unmarshal([]byte(lines[0]), &first); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"decision_id": "id-alice", "path": "writ/access/decision", "requested_by": "127.0.0.1:1", "timestamp": "2023-11-14T22:13:20Z",
		"bundles": "map[writ:map[revision:rev-1]]", "custom": "map[revision:rev-1 sources:[a.yaml:7]]", "erased": "[/input/labels/secret]",
	} {
		if got := fmt.Sprint(first[key]); got != want {
			t.Errorf("%s: got %s, want %s", key, got, want)
		}
	}
	if labels := fmt.Sprint(first["labels"]); !strings.Contains(labels, "region:east") {
		t.Errorf("labels: got %s", labels)
	}
	if !strings.Contains(lines[1], `"resource":"***"`) || !strings.Contains(lines[1], `"masked":["/input/resource"]`) {
		t.Errorf("got %s", lines[1])
	}
	if got := r.lost(t); got != "" {
		t.Errorf("lost: got %s, want none", got)
	}
}

// A rule that fails loses the decision and counts it: it must not be logged unmasked.
func TestFailingRule(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "decisions.jsonl")
	config := write(t, dir, "opa.yaml", "decision_logs: {}\n")
	write(t, dir, "opa.rego", "package system.log\n\nmask := 7\n")
	r := run(t, Options{File: path, Config: config})
	r.Log.Log(event("alice"))
	r.Log.Log(event("bob"))
	r.stop()
	if content, _ := os.ReadFile(path); len(content) > 0 {
		t.Errorf("got %s", content)
	}
	if got := r.lost(t); got != `policy"} 2` {
		t.Errorf("lost: got %s", got)
	}
}

// The file can be rotated.
func TestReopen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "decisions.jsonl")
	r := run(t, Options{File: path})
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	r.Reopen()
	r.Log.Log(event("alice"))
	r.stop()
	if content, err := os.ReadFile(path); err != nil || !bytes.Contains(content, []byte("id-alice")) {
		t.Errorf("got %s and %v", content, err)
	}
}

// collector is a server for decision logs that can be gone.
type collector struct {
	mu       sync.Mutex // held to read and write the fields
	gone     bool
	attempts int
	ids      []string
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.attempts++
	if c.gone {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	var events []struct {
		ID string `json:"decision_id"`
	}
	body, err := gzip.NewReader(r.Body)
	if err != nil || json.NewDecoder(body).Decode(&events) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	for _, e := range events {
		c.ids = append(c.ids, e.ID)
	}
}

func (c *collector) set(gone bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = gone
}

func (c *collector) seen() (attempts int, ids []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.attempts, slices.Clone(c.ids)
}

// wait polls until done is true.
func wait(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !done(); {
		if time.Now().After(deadline) {
			t.Fatalf("%s does not happen", what)
		}
		<-time.After(20 * time.Millisecond)
	}
}

func uploading(t *testing.T, c *collector, buffer int) running {
	t.Helper()
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	config := write(t, t.TempDir(), "opa.yaml", fmt.Sprintf(`
services: {collector: {url: %q}}
decision_logs:
  service: collector
  reporting: {min_delay_seconds: 1, max_delay_seconds: 1, buffer_type: event, buffer_size_limit_events: %d}
`, server.URL, buffer))
	return run(t, Options{Config: config})
}

// Nothing is lost within the buffer while the server is gone.
func TestServerReturns(t *testing.T) {
	c := &collector{gone: true}
	r := uploading(t, c, 100)
	for i := range 30 {
		r.Log.Log(event(fmt.Sprint("u", i)))
	}
	wait(t, "an upload that fails", func() bool { n, _ := c.seen(); return n > 0 })
	c.set(false)
	wait(t, "the upload of all decisions", func() bool { _, ids := c.seen(); return len(ids) >= 30 })
	_, ids := c.seen()
	slices.Sort(ids)
	if len(slices.Compact(ids)) != 30 || r.lost(t) != "" {
		t.Errorf("got %d decisions and lost %s", len(ids), r.lost(t))
	}
}

// Beyond the buffer decisions are lost and counted.
func TestServerStaysAway(t *testing.T) {
	c := &collector{gone: true}
	r := uploading(t, c, 10)
	for i := range 30 {
		r.Log.Log(event(fmt.Sprint("u", i)))
	}
	wait(t, "a loss", func() bool { return strings.HasPrefix(r.lost(t), `buffer"} `) })
}

// A queue without room loses decisions and counts them.
func TestQueueIsFull(t *testing.T) {
	l, err := Open(Options{File: filepath.Join(t.TempDir(), "d"), Metrics: metrics.New(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	large := decision.Event{Point: decision.Access, Input: make([]byte, maxQueuedBytes), Result: []byte("{}")}
	l.Log(large)
	l.Log(event("alice"))
	if got := (running{Log: l, metrics: l.metrics}).lost(t); got != `queue"} 1` || len(l.queue) != 1 {
		t.Errorf("lost: got %s with %d queued", got, len(l.queue))
	}
}

func TestConfigurations(t *testing.T) {
	for _, row := range []struct{ name, config, rego, want string }{
		{"nothing to write to", "decision_logs: {}", "", "neither service nor console"},
		{"an unknown service", "decision_logs: {service: x}", "", "invalid service name"},
		{"an unknown key", "decision_logs: {console: true}\nbundles: {}", "", "services, decision_logs and labels are read"},
		{"a plugin", "decision_logs: {plugin: x}", "", "plugin is not supported"},
		{"a variable that is not set", "decision_logs: {console: true}\nlabels: {a: \"${WRIT_NO_SUCH}\"}", "", "WRIT_NO_SUCH"},
		{"Rego of another package", "decision_logs: {console: true}", "package x", "the package must be system.log"},
		{"Rego that does not parse", "decision_logs: {console: true}", "package system.log\nmask {", "opa.rego:2"},
		{"Rego that does not compile", "decision_logs: {console: true}", "package system.log\nmask contains x if true", "unsafe"},
		{"the console", "decision_logs: {console: true}", "", ""},
	} {
		dir := t.TempDir()
		config := write(t, dir, "opa.yaml", row.config)
		if row.rego != "" {
			write(t, dir, "opa.rego", row.rego)
		}
		_, err := Open(Options{Config: config, Metrics: metrics.New(), Logger: slog.New(slog.DiscardHandler)})
		if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
			t.Errorf("%s: got %v, want %q", row.name, err, row.want)
		}
	}
}

// The console is the server's log.
func TestConsole(t *testing.T) {
	var out bytes.Buffer
	config := write(t, t.TempDir(), "opa.yaml", "decision_logs: {console: true}")
	r := run(t, Options{Config: config, Logger: slog.New(slog.NewJSONHandler(&out, nil))})
	r.Log.Log(event("alice"))
	r.stop()
	if !strings.Contains(out.String(), `"msg":"Decision Log"`) || !strings.Contains(out.String(), `"decision_id":"id-alice"`) {
		t.Errorf("got %s", &out)
	}
}
