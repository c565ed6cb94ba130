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
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/plugins/logs"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/tests/gate"
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

// Rules that do not say what to mask, in a way that can be done, lose decisions and count
// them: nothing is logged unmasked.
func TestMalformedMasks(t *testing.T) {
	for _, row := range []struct{ name, rules string }{
		{"a path without a slash", `mask contains "input/labels/secret"`},
		{"another part of the event", `mask contains "/labels/secret"`},
		{"an empty path", `mask contains ""`},
		{"a number", `mask contains 7`},
		{"an unknown operation", `mask contains {"op": "hide", "path": "/input/labels/secret"}`},
		{"an operation without a path", `mask contains {"op": "remove"}`},
		{"a key with a slash", `mask contains "/input/labels/example.com%2Fsecret"`},
		{"a key with a space", `mask contains {"op": "upsert", "path": "/input/labels/my secret", "value": ""}`},
		{"a drop with two values", "drop := true if true\n\ndrop := false if true"},
		{"two values", "mask := [\"/input/labels/secret\"] if true\n\nmask := [] if true"},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "decisions.jsonl")
			config := write(t, dir, "opa.yaml", "decision_logs: {}\n")
			write(t, dir, "opa.rego", "package system.log\n\nimport rego.v1\n\n"+row.rules+"\n")
			r := run(t, Options{File: path, Config: config})
			e := event("alice")
			e.Input = []byte(`{"user":"alice","labels":{"secret":"hunter2","example.com/secret":"hunter2","my secret":"hunter2"}}`)
			r.Log.Log(e)
			r.stop()
			if content, _ := os.ReadFile(path); len(content) > 0 {
				t.Errorf("got %s", content)
			}
			if got := r.lost(t); got != `policy"} 1` {
				t.Errorf("lost: got %s", got)
			}
		})
	}
}

// A key that no path can name is masked by its parent.
func TestMaskOfAParent(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "decisions.jsonl")
	config := write(t, dir, "opa.yaml", "decision_logs: {mask_decision: /system/log/hidden}\n")
	write(t, dir, "opa.rego", `package system.log

import rego.v1

hidden contains {"op": "upsert", "path": "/input/labels", "value": object.remove(input.input.labels, ["example.com/secret"])}
`)
	r := run(t, Options{File: path, Config: config})
	e := event("alice")
	e.Input = []byte(`{"user":"alice","labels":{"example.com/secret":"hunter2","app":"web"}}`)
	r.Log.Log(e)
	r.stop()
	if content, err := os.ReadFile(path); err != nil || bytes.Contains(content, []byte("hunter2")) || !bytes.Contains(content, []byte(`{"app":"web"}`)) {
		t.Errorf("got %s and %v", content, err)
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
		ID    string `json:"decision_id"`
		Input struct{ Labels map[string]string }
	}
	body, err := gzip.NewReader(r.Body)
	if err != nil || json.NewDecoder(body).Decode(&events) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	for _, e := range events {
		if e.Input.Labels["secret"] != "" {
			w.WriteHeader(http.StatusBadRequest) // it must be masked; the test waits in vain
			return
		}
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

func uploading(t *testing.T, c http.Handler, buffer int) running {
	t.Helper()
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	dir := t.TempDir()
	write(t, dir, "opa.rego", policy)
	config := write(t, dir, "opa.yaml", fmt.Sprintf(`
services: {collector: {url: %q, response_header_timeout_seconds: 600}}
decision_logs:
  service: collector
  reporting: {min_delay_seconds: 1, max_delay_seconds: 1, buffer_type: event, buffer_size_limit_events: %d}
`, server.URL, buffer))
	r := run(t, Options{Config: config, File: filepath.Join(dir, "decisions.jsonl")})
	t.Cleanup(func() {
		r.stop()
		content, err := os.ReadFile(filepath.Join(dir, "decisions.jsonl"))
		if err != nil || len(content) == 0 || bytes.Contains(content, []byte("hunter2")) {
			t.Errorf("the file has %d bytes (%v), or a masked value", len(content), err)
		}
	})
	return r
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
	gate.Only(t)
	c := &collector{gone: true}
	r := uploading(t, c, 10)
	for i := range 30 {
		r.Log.Log(event(fmt.Sprint("u", i)))
	}
	wait(t, "a loss", func() bool { return strings.HasPrefix(r.lost(t), `buffer"} `) })
}

// slowCollector answers no upload before it is released.
type slowCollector struct {
	collector
	entered  chan struct{}
	released chan struct{}
}

func (c *slowCollector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case c.entered <- struct{}{}:
	default:
	}
	<-c.released
	c.collector.ServeHTTP(w, r)
}

// While the server is slow, decisions are taken without waiting for it. Nothing is lost
// within the buffer; beyond it, what is delivered and what is counted as lost are all.
func TestServerIsSlow(t *testing.T) {
	gate.Only(t)
	for _, row := range []struct{ buffer, least, most int }{{100, 60, 60}, {10, 10, 30}} {
		t.Run(fmt.Sprint(row.buffer), func(t *testing.T) {
			c := &slowCollector{entered: make(chan struct{}, 1), released: make(chan struct{})}
			r := uploading(t, c, row.buffer)
			release := sync.OnceFunc(func() { close(c.released) })
			t.Cleanup(release)
			r.Log.Log(event("first"))
			<-c.entered // the upload of the first decision, which does not end
			for i := range 59 {
				r.Log.Log(event(fmt.Sprint("u", i)))
			}
			wait(t, "the queue is empty", func() bool { return len(r.queue) == 0 })
			release()
			wait(t, "the upload of what is kept", func() bool {
				_, ids := c.seen()
				return len(ids) >= row.least && len(ids)+r.lostCount(t) == 60
			})
			_, ids := c.seen()
			slices.Sort(ids)
			if n := len(slices.Compact(ids)); n != len(ids) || n > row.most {
				t.Errorf("got %d decisions, %d of them once, want at most %d", len(ids), n, row.most)
			}
		})
	}
}

// lostCount is the number of lost decisions.
func (r running) lostCount(t *testing.T) (n int) {
	t.Helper()
	for part := range strings.SplitSeq(r.lost(t), ", ") {
		_, count, _ := strings.Cut(part, " ")
		lost, err := strconv.Atoi(count)
		if part != "" && err != nil {
			t.Fatal(err)
		}
		n += lost
	}
	return n
}

// An event has only the members that OPA's have, and a collector that decodes them strictly
// reads what was decided.
func TestEventsAreThoseOfOPA(t *testing.T) {
	path := filepath.Join(t.TempDir(), "decisions.jsonl")
	r := run(t, Options{File: path})
	e := event("alice")
	e.Span = decision.Span{TraceID: "0af7651916cd43dd8448eb211c80319c", SpanID: "b7ad6b7169203331"}
	r.Log.Log(e)
	r.stop()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got logs.EventV1
	strict := json.NewDecoder(bytes.NewReader(content))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&got); err != nil {
		t.Fatalf("%v in %s", err, content)
	}
	if got.DecisionID != e.ID || got.TraceID != e.Span.TraceID || got.SpanID != e.Span.SpanID || got.RequestedBy != e.RequestedBy ||
		!got.Timestamp.Equal(e.Time) || got.Bundles["writ"].Revision != e.Revision || got.Path != "writ/access/decision" {
		t.Errorf("got %+v", got)
	}
	input, err := json.Marshal(got.Input)
	if err != nil || !bytes.Contains(input, []byte(`"user":"alice"`)) {
		t.Errorf("input: got %s and %v", input, err)
	}
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
		{"Rego without the rules", "decision_logs: {console: true}", "package system.log\nimport rego.v1\nmasks contains \"/input\"", "defines neither mask nor drop"},
		{"a mask that is a number", "decision_logs: {console: true}", "package system.log\nmask := 7", "have: number"},
		{"a mask without Rego", "decision_logs: {console: true, mask_decision: /system/log/mask}", "", "mask_decision: no rule /system/log/mask"},
		{"a mask of another name", "decision_logs: {console: true, mask_decision: /system/log/hidden}", "package system.log\nimport rego.v1\nmask contains \"/input\"", "mask_decision: no rule /system/log/hidden"},
		{"a mask of another package", "decision_logs: {console: true, mask_decision: /writ/mask}", "package system.log\nimport rego.v1\nmask contains \"/input\"", "mask_decision: no rule /writ/mask"},
		{"a drop of another name", "decision_logs: {console: true, drop_decision: /system/log/hidden}", "package system.log\nimport rego.v1\nmask contains \"/input\"", "drop_decision: no rule /system/log/hidden"},
		{"a mask that is not a path", "decision_logs: {console: true, mask_decision: 7}", "package system.log\nimport rego.v1\nmask contains \"/input\"", "mask_decision: no rule 7"},
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
