package audit

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/metrics"
)

func judged(policy, action string, score int) decision.PodOutcome {
	return decision.PodOutcome{Policy: policy, Action: action, Evaluated: true, Score: score, Factors: []string{"hostPID"}}
}

func TestEvents(t *testing.T) {
	overridden := judged("o", "allow", 80)
	overridden.Override = true
	passed := decision.PodOutcome{Policy: "f", Action: "allow"}
	rule := []decision.Matched{{Kind: "DenyPolicy", Name: "r", Rule: 3}}
	for _, tt := range []struct {
		name string
		d    decision.Decision
		want string // event, severity, policy, score, override and reason of each
	}{
		{"no deny policy", decision.Decision{Allowed: true, Matched: []decision.Matched{{Kind: "RoleBinding"}}}, ""},
		{"denied by another kind", decision.Decision{Denied: true, Matched: []decision.Matched{{Kind: "RoleBinding"}}}, ""},
		{"an evaluation error", decision.Decision{Denied: true, EvaluationError: "x"}, ""},
		{"a rule", decision.Decision{Denied: true, Reason: "by rule", Matched: rule}, "access.denied.policy warning r rule 3 (by rule)"},
		{
			"allowed", decision.Decision{Allowed: true, Reason: "a binding", Pods: []decision.PodOutcome{judged("p", "allow", 10)}},
			"pod_security.evaluated info p 10 (); pod_security.allowed info p 10 ()",
		},
		{
			"not granted, and fine", decision.Decision{Pods: []decision.PodOutcome{judged("p", "allow", 10)}},
			"pod_security.evaluated info p 10 (); pod_security.allowed info p 10 ()",
		},
		{
			"exempt or open", decision.Decision{Allowed: true, Warnings: []string{"f: no pod"}, Pods: []decision.PodOutcome{passed}},
			"pod_security.allowed info f (no pod)",
		},
		{
			"warned", decision.Decision{Allowed: true, Warnings: []string{"p: careful"}, Pods: []decision.PodOutcome{overridden, judged("p", "warn", 40), passed}},
			"pod_security.evaluated info o 80 override (); pod_security.evaluated info p 40 (); pod_security.warning warning p 40 (careful)",
		},
		{
			"overridden", decision.Decision{Allowed: true, Pods: []decision.PodOutcome{passed, judged("p", "allow", 0), overridden}},
			"pod_security.evaluated info p 0 (); pod_security.evaluated info o 80 override (); pod_security.override warning o 80 override ()",
		},
		{
			"denied", decision.Decision{Denied: true, Reason: "too much", Matched: rule, Pods: []decision.PodOutcome{judged("q", "warn", 40), judged("r", "deny", 90)}},
			"pod_security.evaluated info q 40 (); pod_security.evaluated info r 90 (); pod_security.denied critical r 90 (too much)",
		},
		{
			"the fail mode denied", decision.Decision{Denied: true, Reason: "no pod", Matched: rule, Pods: []decision.PodOutcome{{Policy: "r", Action: "deny"}}},
			"pod_security.denied critical r (no pod)",
		},
		{
			"a rule after a warning", decision.Decision{Denied: true, Reason: "by rule", Matched: rule, Warnings: []string{"p: careful"}, Pods: []decision.PodOutcome{judged("p", "warn", 40)}},
			"pod_security.evaluated info p 40 (); pod_security.warning warning p 40 (careful); access.denied.policy warning r rule 3 (by rule)",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &decision.Request{User: "u", Groups: []string{"g"}, Verb: "create", Resource: "pods", Subresource: "exec", Name: "n", Namespace: "s", Cluster: "c", Escalation: "e"}
			var got []string
			for _, e := range eventsOf(r, &tt.d, func() time.Time { return time.Unix(0, 0) }) {
				got = append(got, brief(&e))
				if e.User != "u" || e.Groups[0] != "g" || e.Cluster != "c" || e.Namespace != "s" || e.Name != "n" || e.Escalation != "e" || e.RiskFactors == nil {
					t.Errorf("got %+v, which lacks something of the request", e)
				}
			}
			if got := strings.Join(got, "; "); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func brief(e *event) string {
	words := []string{e.Event, string(e.Severity), e.PolicyName}
	if e.RiskScore != nil {
		words = append(words, fmt.Sprint(*e.RiskScore))
	}
	if e.Rule != nil {
		words = append(words, fmt.Sprint("rule ", *e.Rule))
	}
	if e.OverrideApplied {
		words = append(words, "override")
	}
	return strings.Join(append(words, "("+e.Reason+")"), " ")
}

func TestFilters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	var out bytes.Buffer
	l, err := Open(Options{Logger: slog.New(slog.NewTextHandler(&out, nil)), File: path}, metrics.New())
	if err != nil {
		t.Fatal(err)
	}
	l.RecordFilter(t.Context(), &decision.Filter{Point: "access", Access: asked, Target: "sql+sqlite", Kind: "never", Hash: "h"})
	l.RecordFilter(t.Context(), &decision.Filter{
		Point: "visibility", Target: "ucast+all", Kind: "always", Hash: "i",
		Visibility: &decision.VisibilityRequest{ServiceAccount: decision.ServiceAccount{Namespace: "n", Name: "s"}, Cluster: decision.Cluster{Name: "c"}, Type: "pods"},
	})
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(content)) {
		var e event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.Join([]string{e.Event, string(e.Severity), e.User, e.Verb, e.Cluster, e.Resource, e.Point, e.Target, e.Kind, e.Hash}, "|"))
	}
	want := []string{"filter|info|eve\nlevel=INFO msg=forged|delete||pods|access|sql+sqlite|never|h", "filter|info|system:serviceaccount:n:s||c|pods|visibility|ucast+all|always|i"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if !strings.Contains(out.String(), "event=filter severity=info") || !strings.Contains(out.String(), "point=access target=sql+sqlite kind=never hash=h") {
		t.Errorf("got the lines %s", out.String())
	}
}

func TestLongTextsAreCut(t *testing.T) {
	r := &decision.Request{User: strings.Repeat("ü", 600), Groups: make([]string, 1000)}
	d := &decision.Decision{Denied: true, Matched: []decision.Matched{{Kind: denyPolicy}}, Reason: strings.Repeat("x", 5000)}
	e := eventsOf(r, d, time.Now)[0]
	if len(e.Groups) != maxList+1 || len(e.Reason) != maxText+3 || e.User != strings.Repeat("ü", 512)+"..." {
		t.Errorf("got %d groups, %d bytes of reason and user %q", len(e.Groups), len(e.Reason), e.User)
	}
}

var (
	asked  = &decision.Request{User: "eve\nlevel=INFO msg=forged", Verb: "delete", Resource: "pods"}
	denied = &decision.Decision{Denied: true, Reason: "no", Matched: []decision.Matched{{Kind: denyPolicy, Name: "p", Rule: 1}}}
)

// The log, one line an event whatever a user is called, and the file, also after
// it was moved away.
func TestLogAndFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	var out bytes.Buffer
	l, err := Open(Options{Logger: slog.New(slog.NewTextHandler(&out, nil)), File: path}, metrics.New())
	if err != nil {
		t.Fatal(err)
	}
	l.Record(t.Context(), asked, denied)
	l.Record(t.Context(), asked, &decision.Decision{Allowed: true})
	line := out.String()
	for _, want := range []string{"level=WARN msg=audit event=access.denied.policy severity=warning", `user="eve\nlevel=INFO msg=forged"`, "policyName=p", "rule=1", "reason=no"} {
		if !strings.Contains(line, want) {
			t.Errorf("got %q, want %q", line, want)
		}
	}
	if got := strings.Count(line, "\n"); got != 1 {
		t.Errorf("got %d lines, want 1", got)
	}
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	l.Record(t.Context(), asked, denied)
	l.Reopen()
	l.Reopen()
	l.Record(t.Context(), asked, denied)
	for name, want := range map[string]int{path + ".1": 2, path: 1} {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(string(content), `"event":"access.denied.policy"`); got != want || strings.Count(string(content), "\n") != want {
			t.Errorf("%s: got %d events, want %d", name, got, want)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// receiver answers the nth POST with the nth code, and with 200 after them.
type receiver struct {
	codes []int
	posts atomic.Int64
	lines chan string
}

func (v *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := int(v.posts.Add(1)) - 1
	if n < len(v.codes) && v.codes[n] != http.StatusOK {
		w.WriteHeader(v.codes[n])
		return
	}
	for lines := bufio.NewScanner(r.Body); lines.Scan(); {
		v.lines <- lines.Text()
	}
}

// eventsOf are posted again to a path of the same server, and not to another server.
func TestWebhookRedirects(t *testing.T) {
	for _, tt := range []struct {
		name        string
		code        int
		isElsewhere bool
		dropped     int
	}{
		{"same server", http.StatusTemporaryRedirect, false, 0},
		{"other server", http.StatusTemporaryRedirect, true, 1},
		{"other method", http.StatusFound, false, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := &receiver{lines: make(chan string, 10)}
			other := httptest.NewServer(v)
			defer other.Close()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Path == "/new":
					v.ServeHTTP(w, r)
				case tt.isElsewhere:
					http.Redirect(w, r, other.URL+"/new", tt.code)
				default:
					http.Redirect(w, r, "/new", tt.code)
				}
			}))
			defer server.Close()
			m := metrics.New()
			l, err := Open(Options{Webhook: server.URL + "/secret"}, m)
			if err != nil {
				t.Fatal(err)
			}
			l.webhook.wait = time.Millisecond
			l.Record(t.Context(), asked, denied)
			ctx, stop := context.WithCancel(t.Context())
			stop()
			l.Run(ctx)
			if got := len(v.lines); got != 1-tt.dropped {
				t.Errorf("got %d events, want %d", got, 1-tt.dropped)
			}
		})
	}
}

func TestWebhook(t *testing.T) {
	for _, tt := range []struct {
		name    string
		codes   []int
		events  int
		posts   int64
		dropped int
	}{
		{"taken", nil, 3, 1, 0},
		{"many at a time", nil, maxBatch + 1, 2, 0},
		{"taken in the end", []int{500, 429, 408, 503}, 3, 5, 0},
		{"never taken", []int{500, 500, 500, 500, 500}, 3, 5, 3},
		{"refused", []int{400}, 3, 1, 3},
		{"more than can wait", nil, maxQueued + 7, maxQueued / maxBatch, 7},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := &receiver{codes: tt.codes, lines: make(chan string, maxQueued)}
			server := httptest.NewServer(v)
			defer server.Close()
			m := metrics.New()
			l, err := Open(Options{Webhook: server.URL}, m)
			if err != nil {
				t.Fatal(err)
			}
			l.webhook.wait = time.Millisecond
			for range tt.events {
				l.Record(t.Context(), asked, denied)
			}
			ctx, stop := context.WithCancel(t.Context())
			stop() // what waits is delivered at the end
			l.Run(ctx)
			close(v.lines)
			got := 0
			for line := range v.lines {
				var e event
				if err := json.Unmarshal([]byte(line), &e); err != nil || e.Event != eventRuleDenied || *e.Rule != 1 {
					t.Fatalf("got %s, %v", line, err)
				}
				got++
			}
			if want := tt.events - tt.dropped; got != want || v.posts.Load() != tt.posts {
				t.Errorf("got %d events in %d POSTs, want %d in %d", got, v.posts.Load(), want, tt.posts)
			}
			if want := fmt.Sprintf(`writ_audit_events_dropped_total{sink="webhook"} %d`+"\n", tt.dropped); !strings.Contains(page(m), want) {
				t.Errorf("got no %s", want)
			}
		})
	}
}

func page(m *metrics.Metrics) string {
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	text, _ := io.ReadAll(w.Body)
	return string(text)
}

func TestOpen(t *testing.T) {
	for name, o := range map[string]Options{
		"no URL":          {Webhook: "audit"},
		"another scheme":  {Webhook: "ftp://secret@host/"},
		"no such folder":  {File: filepath.Join(t.TempDir(), "nowhere", "audit")},
		"a folder":        {File: t.TempDir()},
		"no host":         {Webhook: "https:///x"},
		"nothing to read": {Webhook: "http://[::1"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Open(o, metrics.New()); err == nil || strings.Contains(err.Error(), "secret") {
				t.Errorf("got %v, want an error without secrets", err)
			}
		})
	}
}

// Characters that act on a terminal are escaped in the file, C1 control characters and
// marks of direction too.
func TestFileIsSafeOnTerminals(t *testing.T) {
	line := string(encode([]event{{User: "a\u009b31m\u202e\x1b", Reason: "\u2028\x7f"}}))
	if strings.ContainsAny(line, "\u009b\u202e\x1b\u2028\x7f") || !strings.Contains(line, `"a\u009b31m\u202e\u001b"`) {
		t.Errorf("got %q", line)
	}
}
