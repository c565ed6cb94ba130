package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/server/cache"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/metrics"
)

// monitoring is a policy for alice and one for the group dev; LEVEL is what the
// latter shows of pods.
const monitoring = `apiVersion: clusterpulse.io/v1alpha1
kind: MonitorAccessPolicy
metadata: {name: alice, namespace: p}
spec:
  identity: {subjects: {users: [alice], serviceAccounts: [{name: bot, namespace: ci}]}}
  access: {effect: Allow}
  scope: {clusters: {rules: [{selector: {matchLabels: {env: lab}}, permissions: {view: true, viewMetrics: true}, resources: [{type: volume}]}]}}
---
apiVersion: clusterpulse.io/v1alpha1
kind: MonitorAccessPolicy
metadata: {name: dev, namespace: p}
spec:
  identity: {subjects: {groups: [dev]}, priority: 200}
  access: {effect: Allow}
  scope: {clusters: {default: none, rules: [{selector: {matchNames: [prod]}, resources: [{type: pods, visibility: LEVEL}]}]}}
---
apiVersion: clusterpulse.io/v1alpha1
kind: MetricSource
metadata: {name: volumes, namespace: p}
spec:
  source: {apiVersion: v1, kind: PersistentVolumeClaim}
  fields: [{name: size, path: .size}]
  rbac: {resourceTypeName: volume}
`

// as sends a request with a token and gives status and body.
func (r *running) as(token, method, path, body string) (int, string) {
	r.t.Helper()
	request, err := http.NewRequest(method, r.url+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := r.client.Do(request)
	if err != nil {
		r.t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return response.StatusCode, string(content)
}

// Callers see what the documents state about them, by the clock of decisions
// and with the labels of the clusters file.
func TestDebugging(t *testing.T) {
	h := newHouse(t)
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	h.config.Now = func() time.Time { return now }
	h.config.Callers.Tokens = h.write("tokens.csv", "a,alice,1\nb,bob,2,dev\ns,system:serviceaccount:ci:bot,3\n")
	h.config.Clusters.File = h.write("clusters.yaml", "clusters: [{name: bench, labels: {env: lab}}, {name: prod}]\n")
	h.write("policies/monitoring.yaml", strings.ReplaceAll(monitoring, "LEVEL", "all"))
	r := h.run()
	r.eventually("ready", r.isReady)
	const stamp = `"2026-03-01T00:00:00Z"`
	for _, row := range []struct {
		token, method, path string
		code                int
		want                string // in the body
	}{
		{"", "GET", "/api/v1/auth/policies", 401, `{"error":"authentication required"}`},
		{"x", "GET", "/api/v1/auth/permissions", 401, `{"error":"authentication required"}`},
		{"", "POST", "/api/v1/auth/cache/clear", 401, `{"error":"authentication required"}`},
		{"a", "GET", "/api/v1/auth/policies", 200, `"total_policies":1,"policies":[{"source":"user","priority":100,"state":"Active","policy":{"policy_name":"alice",`},
		{"s", "GET", "/api/v1/auth/policies", 200, `"policies":[{"source":"serviceaccount",`},
		{"b", "GET", "/api/v1/auth/policies", 200, `"evaluation_order":["dev"],"retrieved_at":` + stamp},
		{"b", "GET", "/api/v1/auth/permissions", 200, `"clusters":{"prod":{"permissions":["view"],"access_level":"limited"}},"accessible_cluster_names":["prod"],"evaluated_at":` + stamp},
		{"s", "GET", "/api/v1/auth/permissions?cluster=bench&cluster=prod", 200, `"summary":{"total_clusters":2,"accessible_clusters":1},"clusters":{"bench":{"permissions":["view","viewMetrics"],"access_level":"full"}}`},
		{"a", "GET", "/api/v1/custom-types", 200, `[{"resourceTypeName":"volume","sourceId":"p/volumes"}]`},
		{"b", "GET", "/api/v1/custom-types", 200, `[]`},
		{"a", "POST", "/api/v1/auth/cache/clear", 200, `{"message":"Cache cleared successfully","rbac_entries_cleared":0,"user":"alice"}`},
	} {
		if code, body := r.as(row.token, row.method, row.path, ""); code != row.code || !strings.Contains(body, row.want) {
			t.Errorf("%s %s as %q: got %d %s, want %d %s", row.method, row.path, row.token, code, body, row.code, row.want)
		}
	}
}

// With the cache a changed policy counts at once for those it named, and what is
// kept for others stays.
func TestKeptAuthorizationsFollowTheDocuments(t *testing.T) {
	h := newHouse(t)
	h.config.Cache.VisibilityEntries = 100
	h.config.Callers.Tokens = h.write("tokens.csv", "a,alice,1\nb,bob,2,dev\n")
	h.write("policies/monitoring.yaml", strings.ReplaceAll(monitoring, "LEVEL", "all"))
	r := h.run()
	r.eventually("ready", r.isReady)
	ask := func(user string) string {
		code, body := r.as("a", "POST", "/v1/decisions/visibility", `{"user":"`+user+`","groups":["dev",""],"type":"pods","cluster":{"name":"prod"},"items":[{"name":"p","namespace":"n"}]}`)
		if code != http.StatusOK {
			t.Fatalf("got %d %s", code, body)
		}
		var d struct{ Decision string }
		if err := json.Unmarshal([]byte(body), &d); err != nil {
			t.Fatal(err)
		}
		return d.Decision
	}
	cleared := func(token string) string {
		_, body := r.as(token, "POST", "/api/v1/auth/cache/clear", "")
		return body
	}
	for range 2 {
		if got := ask("bob"); got != "allow" {
			t.Fatalf("got %s, want allow", got)
		}
	}
	if _, body := r.as("a", "POST", "/v1/decisions/visibility", `{"user":"alice","cluster":{"name":"x","labels":{"env":"lab"}}}`); !strings.Contains(body, `"allow"`) {
		t.Fatalf("got %s, want allow", body)
	}
	// In one step: half a file would be a revision without either policy.
	if err := os.Rename(h.write("next", strings.ReplaceAll("\n\n"+monitoring, "LEVEL", "none")), filepath.Join(h.config.Policies[0], "monitoring.yaml")); err != nil {
		t.Fatal(err)
	}
	r.eventually("the changed policy counts", func() bool { return ask("bob") == "partial" })
	r.eventually("the entry of alice and the new one of bob are kept", func() bool {
		_, page := r.as("a", "GET", "/metrics", "")
		return strings.Contains(page, "writ_cache_entries 2\n")
	})
	if _, body := r.as("a", "POST", "/v1/decisions/visibility", `{"user":"alice","cluster":{"name":"x","labels":{"env":"lab"}}}`); !strings.Contains(body, `"source":"monitoring.yaml:9"`) {
		t.Errorf("got %s, want the line the rule stands on now", body)
	}
	for token, want := range map[string]string{"a": `"rbac_entries_cleared":1`, "b": `"rbac_entries_cleared":1`} {
		if got := cleared(token); !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got := cleared("a"); !strings.Contains(got, `"rbac_entries_cleared":0`) {
		t.Errorf("got %s, want nothing left", got)
	}
}

// Whatever happens to documents and clock: with the cache, answers are those
// without it.
func TestCachedViewsAreFresh(t *testing.T) {
	h := newHouse(t)
	random := rand.New(rand.NewPCG(7, 7))
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	h.config.Now = func() time.Time { return now }
	s, err := New(h.config)
	if err != nil {
		t.Fatal(err)
	}
	m := metrics.New()
	kept := cache.New(cache.Options{Now: h.config.Now, Visibility: cache.VisibilityOptions{Entries: 60, TTL: time.Hour}}, m)
	policies := make([]string, 5)
	for i := range policies {
		policies[i] = randomPolicy(random, i)
	}
	requests := make([]*decision.VisibilityRequest, 30)
	for i := range requests {
		requests[i] = randomView(random)
	}
	shown := 0
	for revision := range 8 {
		changed := random.IntN(len(policies))
		policies[changed] = randomPolicy(random, changed)
		h.write("policies/monitoring.yaml", strings.ReplaceAll(monitoring, "LEVEL", "none")+strings.Join(policies, ""))
		if err := s.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range 150 {
			if random.IntN(8) == 0 {
				now = now.Add(time.Duration(random.IntN(80)-20) * time.Minute)
			}
			r := requests[random.IntN(len(requests))]
			p := s.reloader.Current()
			got := decision.DecideVisibility(t.Context(), p, r, kept.Of(p).Visibility(t.Context(), r))
			want := decision.DecideVisibility(t.Context(), p, r, p.Visibility(t.Context(), r))
			if !bytes.Equal(got.AppendJSON(nil), want.AppendJSON(nil)) || got.Revision != want.Revision {
				t.Fatalf("revision %d, at %s: got %s\nwant %s", revision, now, got.AppendJSON(nil), want.AppendJSON(nil))
			}
			if want.Decision != decision.VisibleNone {
				shown++
			}
		}
	}
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	_, hits, _ := strings.Cut(w.Body.String(), "\nwrit_cache_hits_total ")
	hits, _, _ = strings.Cut(hits, "\n")
	if count, err := strconv.Atoi(hits); err != nil || count < 200 || shown < 200 {
		t.Errorf("got %s answers that were kept and %d that show anything, want enough to compare", hits, shown)
	}
}

func randomPolicy(random *rand.Rand, index int) string {
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	bound := pick("", "notBefore", "notAfter")
	if bound != "" {
		bound += `: "` + time.Date(2026, 1, 1, random.IntN(24), random.IntN(60), 0, 0, time.UTC).Format(time.RFC3339) + `"`
	}
	return fmt.Sprintf(`---
apiVersion: clusterpulse.io/v1alpha1
kind: MonitorAccessPolicy
metadata: {name: p%d}
spec:
  identity: {subjects: {users: [%s], groups: [%s]}, priority: %d}
  access: {effect: %s, enabled: %s}
  scope:
    clusters:
      default: %s
      rules: [{selector: {matchNames: [%s]}, permissions: {view: true, viewMetrics: %s}, resources: [{type: pods, filters: {names: {allowed: [%s]}}}, {type: volume}]}]
  lifecycle: {validity: {%s}}
`, index, pick("alice", "bob", "carol"), pick("dev", "ops"), 10+index*10, pick("Allow", "Allow", "Allow", "Deny"), pick("true", "true", "false"),
		pick("all", "none"), pick("prod", "stage"), pick("true", "false"), pick("a", "b"), bound)
}

func randomView(random *rand.Rand) *decision.VisibilityRequest {
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	return &decision.VisibilityRequest{
		User: pick("alice", "bob", "carol", "dan"), Groups: []string{pick("dev", "", "ops"), pick("", "ops")},
		Action: pick("", "view", "viewMetrics"), Type: pick("", "pods", "volume"), Cluster: decision.Cluster{Name: pick("prod", "stage", "", "x")},
		Items: &[]decision.Item{{Name: "a"}, {Name: "b", Namespace: "n"}},
	}
}
