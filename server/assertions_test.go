package server

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/writ-policy/writ/server/proofs"
)

const onlyAlice = `apiVersion: writ.dev/v1
kind: Assertions
metadata: {name: pods}
spec:
  assertions:
    - {name: only alice, never: allowed, of: {verb: get, resource: pods, namespace: hammer}, unless: {holds: "user:alice"}}
`

func (r *running) assertions() (status serverStatus) {
	r.t.Helper()
	_, body := r.get("/v1/status")
	if err := json.Unmarshal([]byte(body), &status); err != nil {
		r.t.Fatal(err, body)
	}
	if status.Assertions == nil {
		status.Assertions = new(proofs.Status)
	}
	return status
}

func (r *running) metric(line string) bool {
	_, page := r.get("/metrics")
	return strings.Contains(page, "\n"+line+"\n")
}

// A revision that breaks an assertion, or has none, is refused. The last good one is served,
// and after a restart too.
func TestRequiredAssertions(t *testing.T) {
	h := newHouse(t)
	h.write("policies/assert.yaml", onlyAlice)
	h.config.StateDir, h.config.Assertions.Required = h.dir+"/state", true
	log := &syncBuffer{}
	h.config.Logger = slog.New(slog.NewTextHandler(log, nil))
	r := h.run()
	r.eventually("ready", r.isReady)
	if s := r.assertions(); s.Assertions.State != proofs.Verified || s.Assertions.Verified != 1 || s.Assertions.Holds != 1 || s.Degraded {
		t.Fatalf("got %+v", s.Assertions)
	}
	r.eventually("the metrics have the assertion that holds", func() bool {
		return r.metric(`writ_assertions{verdict="holds"} 1`) && r.metric(`writ_reloads_refused_total{reason="assertions"} 0`)
	})
	good := strings.ReplaceAll(viewers, "NAME", "alice")
	refused := func(what, code, logged string) {
		t.Helper()
		r.eventually(what, func() bool { s := r.assertions(); return s.Degraded && s.Assertions.Code == code })
		// Metrics, log and events follow the status.
		r.eventually(what+": the log has "+logged, func() bool { return strings.Contains(log.String(), logged) })
		if !r.isReady() || !r.allowed("alice") || r.allowed("bob") {
			t.Errorf("%s: the last good revision does not serve on", what)
		}
		if s := r.assertions(); !strings.Contains(s.LastError, code) {
			t.Errorf("%s: got %q", what, s.LastError)
		}
	}
	accepted := func() {
		t.Helper()
		r.eventually("accepted again", func() bool {
			s := r.assertions()
			return !s.Degraded && s.Assertions.Code == "" && s.Assertions.Holds == 1
		})
	}
	h.write("policies/viewers.yaml", strings.ReplaceAll(good, "subjects:\n", "subjects:\n  - {kind: User, apiGroup: rbac.authorization.k8s.io, name: bob}\n"))
	refused("bob too", proofs.CodeFailed, "pods/only alice (fails: ")
	if s := r.assertions().Assertions; len(s.Failing) != 1 || s.Failing[0].Name != "only alice" || s.Failing[0].Verdict != "fails" || s.Failing[0].Text == "" || s.Verified != 1 || s.Holds != 0 {
		t.Errorf("got %+v", s)
	}
	r.eventually("the metrics are those of the served revision and a refusal", func() bool {
		return r.metric(`writ_assertions{verdict="holds"} 1`) && r.metric(`writ_assertions{verdict="fails"} 0`) && r.metric(`writ_reloads_refused_total{reason="assertions"} 1`)
	})
	r.eventually("an event names the assertion", func() bool { _, page := r.get("/page/"); return strings.Contains(page, "only alice") })

	r.stop()
	<-r.ended
	r = h.run()
	r.eventually("the last good revision after a restart", r.isReady)
	refused("after a restart", proofs.CodeFailed, "only alice")
	h.write("policies/viewers.yaml", good)
	accepted()

	h.write("policies/assert.yaml", strings.ReplaceAll(onlyAlice, "user:alice", "user:carol"))
	refused("the same revision with another assertion", proofs.CodeFailed, "only alice")
	h.write("policies/assert.yaml", onlyAlice)
	accepted()
	if err := os.Remove(h.dir + "/policies/assert.yaml"); err != nil {
		t.Fatal(err)
	}
	refused("no assertion", proofs.CodeNone, "no-assertions")
	h.write("policies/assert.yaml", onlyAlice)
	accepted()
	r.stop()
	<-r.ended

	h.config.Assertions.Timeout = time.Nanosecond
	h.write("policies/more.yaml", strings.ReplaceAll(strings.ReplaceAll(viewers, "NAME", "alice"), "viewer", "watcher"))
	r = h.run()
	r.eventually("ready, by the state directory", r.isReady)
	refused("no time", proofs.CodeTimeout, "--verify-timeout")
}

// Without a state directory, a server whose first revision breaks an assertion is not ready.
func TestRequiredFromTheStart(t *testing.T) {
	h := newHouse(t)
	h.config.Assertions.Required = true
	h.write("policies/assert.yaml", strings.ReplaceAll(onlyAlice, "user:alice", "user:bob"))
	r := h.run()
	r.eventually("refused", func() bool { return r.assertions().Assertions.Code == proofs.CodeFailed })
	if r.isReady() || r.allowed("alice") {
		t.Error("a revision that breaks an assertion is served")
	}
	h.write("policies/assert.yaml", onlyAlice)
	r.eventually("ready", r.isReady)
}

// The operator's assertions are required whatever the documents have, and are read again.
func TestAssertionsOfTheOperator(t *testing.T) {
	h := newHouse(t)
	h.config.Assertions.Required = true
	h.config.Assertions.Files = []string{h.write("operator/mine.yaml", strings.ReplaceAll(onlyAlice, "user:alice", "user:bob"))}
	r := h.run()
	r.eventually("refused", func() bool { return r.assertions().Assertions.Code == proofs.CodeFailed })
	h.write("operator/mine.yaml", onlyAlice)
	r.eventually("ready after the operator's change", r.isReady)
	h.write("operator/mine.yaml", strings.ReplaceAll(onlyAlice, "never", "sometimes"))
	r.eventually("refused for a mistake", func() bool { s := r.assertions(); return s.Degraded && s.Assertions.Code == proofs.CodeBad })
	if !r.allowed("alice") {
		t.Error("a mistake of the operator stopped service")
	}
	h.write("operator/mine.yaml", onlyAlice)
	r.eventually("not degraded", func() bool { return !r.assertions().Degraded })

	h.write("operator/mine.yaml", "kind: Nothing\n")
	if _, err := New(h.config); err == nil {
		t.Error("a server starts with mistakes in the operator's assertions")
	}
}

// Without the requirement a revision is served, and verified after that. What a date breaks is
// an event, and does not stop service.
func TestAssertionsAreVerifiedAfterwards(t *testing.T) {
	h := newHouse(t)
	var now atomic.Pointer[time.Time]
	begin := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	now.Store(&begin)
	h.config.Now = func() time.Time { return *now.Load() }
	h.write("policies/assert.yaml", onlyAlice)
	h.write("policies/later.yaml", `apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: later, namespace: hammer, annotations: {writ.dev/not-before: "2026-03-01T10:00:00Z"}}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: viewer}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: bob}]
`)
	r := h.run()
	r.eventually("verified", func() bool { s := r.assertions().Assertions; return s.State == proofs.Verified && s.Holds == 1 })
	end := begin.Add(time.Hour)
	now.Store(&end)
	r.eventually("fails", func() bool { s := r.assertions().Assertions; return s.State == proofs.Verified && len(s.Failing) == 1 })
	r.eventually("the metric", func() bool {
		return r.metric(`writ_assertions{verdict="fails"} 1`) && r.metric(`writ_assertions{verdict="holds"} 0`)
	})
	if s := r.assertions(); s.Degraded || !r.isReady() || !r.allowed("bob") {
		t.Errorf("got %+v, want that service goes on", s)
	}
	r.eventually("an event", func() bool { _, page := r.get("/page/"); return strings.Contains(page, "only alice") })
}

// Until a served revision is verified, its verdicts are pending: in the status, the metric and the
// console.
func TestVerdictsArePending(t *testing.T) {
	h := newHouse(t)
	const many = 800 // which take a while
	text := onlyAlice[:strings.Index(onlyAlice, "    - ")]
	for i := range many {
		text += "    - {name: a" + strconv.Itoa(i) + ", never: allowed, of: {verb: get, resource: pods, namespace: hammer, name: n" + strconv.Itoa(i) + "}, unless: {holds: \"user:alice\"}}\n"
	}
	h.write("policies/assert.yaml", text)
	r := h.run()
	r.eventually("pending", func() bool { return r.assertions().Assertions.State == "pending" })
	if !r.metric(`writ_assertions{verdict="pending"} `+strconv.Itoa(many)) || !r.metric(`writ_assertions{verdict="holds"} 0`) {
		t.Error("the metric does not have them as pending")
	}
	if _, page := r.get("/page/assertions"); !strings.Contains(page, "pending") {
		t.Error("the console does not have them as pending")
	}
	if s := r.assertions(); s.Degraded || !r.isReady() || !r.allowed("alice") {
		t.Errorf("got %+v, want that the revision is served", s)
	}
	r.eventually("verified", func() bool { s := r.assertions().Assertions; return s.State == proofs.Verified && s.Holds == many })
	r.eventually("the metric", func() bool {
		return r.metric(`writ_assertions{verdict="pending"} 0`) && r.metric(`writ_assertions{verdict="holds"} `+strconv.Itoa(many))
	})
}

// Documents that assertions compare with are read again when they change, though no other document
// does: in the directory and beside the operator's assertions.
func TestReferencesAreWatched(t *testing.T) {
	reference := strings.ReplaceAll(strings.ReplaceAll(onlyAlice, "of: {verb: get, resource: pods, namespace: hammer}, unless: {holds: \"user:alice\"}", ""), "never: allowed", "within: {documents: .baseline}")
	good, other := strings.ReplaceAll(viewers, "NAME", "alice"), strings.ReplaceAll(viewers, "NAME", "carol")
	for name, required := range map[string]bool{"verified afterwards": false, "required": true} {
		for _, folder := range []string{"policies", "operator"} {
			t.Run(name+" in "+folder, func(t *testing.T) {
				h := newHouse(t)
				h.config.Assertions.Required = required
				h.write(folder+"/.baseline/viewers.yaml", good)
				if file := h.write(folder+"/assert.yaml", reference); folder == "operator" {
					h.config.Assertions.Files = []string{file}
				}
				r := h.run()
				isVerified := func(holds int) func() bool {
					return func() bool {
						s := r.assertions().Assertions
						return s.State == proofs.Verified && s.Verified == 1 && s.Holds == holds
					}
				}
				r.eventually("holds", isVerified(1))
				h.write(folder+"/.baseline/viewers.yaml", other)
				r.eventually("fails", isVerified(0))
				r.eventually("refused", func() bool { return (r.assertions().Assertions.Code == proofs.CodeFailed) == required })
				if !r.isReady() || !r.allowed("alice") {
					t.Error("what is served is served no more")
				}
				h.write(folder+"/.baseline/viewers.yaml", good)
				r.eventually("holds again", isVerified(1))
				r.eventually("accepted", func() bool { return !r.assertions().Degraded })
			})
		}
	}
}

func (r *running) verify(body string) (int, string) {
	r.t.Helper()
	response, err := r.client.Post(r.url+"/v1/verify", "application/json", strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	if response.Header.Get("Writ-Revision") == "" {
		r.t.Error("got no revision in the header")
	}
	return response.StatusCode, string(text)
}

func TestVerifyEndpoint(t *testing.T) {
	h := newHouse(t)
	h.write("policies/assert.yaml", onlyAlice)
	h.write("policies/.baseline/viewers.yaml", strings.ReplaceAll(viewers, "NAME", "alice"))
	h.write("policies/.other/viewers.yaml", strings.ReplaceAll(viewers, "NAME", "carol"))
	r := h.run()
	r.eventually("verified", func() bool { return r.assertions().Assertions.State == proofs.Verified && r.isReady() })
	if code, body := r.get("/v1/assertions"); code != http.StatusOK || !strings.Contains(body, `"state":"verified"`) || !strings.Contains(body, `"name":"only alice"`) || !strings.Contains(body, `"verdict":"holds"`) {
		t.Errorf("got %d %s", code, body)
	}
	many := strings.Repeat(`{"name":"x","never":"allowed"},`, 21)
	for _, row := range []struct{ name, body, want string }{
		{"holds", `{"assertions":[{"name":"x","never":"allowed","of":{"verb":"delete","resource":"pods"}}]}`, `200 "verdict":"holds"`},
		{"fails", `{"assertions":[{"name":"x","never":"allowed","of":{"verb":"get","resource":"pods"}}]}`, `200 "user":"alice"`},
		{"a reference", `{"assertions":[{"name":"x","within":{"documents":".baseline"}}]}`, `200 "verdict":"holds"`},
		{"another reference", `{"assertions":[{"name":"x","within":{"documents":".other"}}]}`, `200 "verdict":"fails"`},
		{"a reference outside", `{"assertions":[{"name":"x","within":{"documents":"../policies/.other"}}]}`, `400 "code":"no-reference" "field":"/assertions/0/within/documents"`},
		{"independent", `{"assertions":[{"name":"x","independent":{"documents":"viewers.yaml"},"of":{"resource":"pods"}}]}`, `200 "verdict":"fails"`},
		{"the time", `{"now":"2026-01-01T00:00:00Z","assertions":[{"name":"x","never":"allowed","of":{"verb":"delete","resource":"pods"}}]}`, `200 "now":"2026-01-01T00:00:00Z"`},
		{"not a time", `{"now":"soon","assertions":[]}`, `400 "field":"/now"`},
		{"an unknown key", `{"assertions":[{"name":"x","never":"allowed","of":{"a/b":"get"}}]}`, `400 "code":"unknown-field" "field":"/assertions/0/of/a~1b"`},
		{"an unknown member", `{"assertion":[],"assertions":[{"name":"x","never":"allowed"}]}`, `400 "code":"unknown-field" "field":"/assertion"`},
		{"a word", `{"assertions":[{"name":"y","never":"allowed"},{"name":"x","never":"granted"}]}`, `400 "code":"bad-value" "field":"/assertions/1/never"`},
		{"a pattern without like", `{"assertions":[{"name":"x","never":"allowed","of":{"namespace":["a","b-*"]}}]}`, `400 "code":"bad-pattern" "field":"/assertions/0/of/namespace/1"`},
		{"no assertion", `{"assertions":[]}`, `400 "code":"missing" "field":"/assertions"`},
		{"too many", `{"assertions":[` + strings.TrimSuffix(many, ",") + `]}`, `400 "field":"/assertions`},
		{"not an object", `[]`, `400 "detail":"the body is not a JSON object"`},
	} {
		code, body := r.verify(row.body)
		status, rest, _ := strings.Cut(row.want, " ")
		for want := range strings.SplitSeq(rest, `" "`) {
			if status != strconv.Itoa(code) || !strings.Contains(body, strings.Trim(want, `"`)) {
				t.Errorf("%s: got %d %s, want %s", row.name, code, body, row.want)
			}
		}
	}
}
