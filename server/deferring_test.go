package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/writ-policy/writ/server/decision"
)

// admitted is a server whose cluster main has two API servers with a companion.
type admitted struct {
	*Server
	one, two *apiServer
	dir      string
	digest   string
	now      atomic.Pointer[time.Time]
}

// deferring are documents by which objects decide: ann edits, but deletes nothing protected, bob
// deletes nothing protected, and the bot changes labels alone.
const deferring = `{kind: Role, apiVersion: writ.dev/v1, metadata: {name: edit, namespace: master}, rules: [{verbs: ["*"], resourceKinds: ["*"]}]}
---
{kind: Role, apiVersion: writ.dev/v1, metadata: {name: careful, namespace: master}, rules: [{deny: true, verbs: [delete], resourceKinds: ["*"], attributeRestrictions: {labelsContain: [protected]}}]}
---
{kind: Role, apiVersion: writ.dev/v1, metadata: {name: label, namespace: master}, rules: [{verbs: [update], resourceKinds: [ConfigMap], attributeRestrictions: {fieldsMutatable: [labels]}}]}
---
{kind: RoleBinding, apiVersion: writ.dev/v1, metadata: {name: edit, namespace: shop}, roleRef: {name: edit, namespace: master}, userNames: [ann, "system:serviceaccount:kube-system:x"]}
---
{kind: RoleBinding, apiVersion: writ.dev/v1, metadata: {name: careful, namespace: shop}, roleRef: {name: careful, namespace: master}, userNames: [ann, bob, "system:serviceaccount:kube-system:x"]}
---
{kind: RoleBinding, apiVersion: writ.dev/v1, metadata: {name: label, namespace: shop}, roleRef: {name: label, namespace: master}, userNames: [bot]}
`

func newAdmitted(t *testing.T) *admitted {
	t.Helper()
	a := &admitted{one: newAPIServer(t), two: newAPIServer(t), dir: t.TempDir()}
	a.write(t, "policies/p.yaml", deferring)
	a.write(t, "k.yaml", fmt.Sprintf("{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: %q}}], contexts: [{name: c, context: {cluster: c}}]}", a.one.URL))
	a.list(t, fmt.Sprintf("companion: true, companionAddresses: [%q, %q]", a.one.URL, a.two.URL))
	a.jump(time.Now())
	c := Defaults()
	c.Policies, c.Clusters.File, c.Clusters.ProbeNamespace = []string{filepath.Join(a.dir, "policies")}, filepath.Join(a.dir, "clusters.yaml"), "probes"
	c.Clusters.FetchTimeout = 200 * time.Millisecond
	c.Audit.DecisionLog = filepath.Join(a.dir, "decisions.jsonl")
	c.Now = func() time.Time { return *a.now.Load() }
	var err error
	if a.Server, err = New(c); err != nil {
		t.Fatal(err)
	}
	if err := a.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.probeCompanions(t.Context())
	a.digest = a.state(t).Digest
	a.one.refuse(a.digest)
	a.two.refuse(a.digest)
	a.probeCompanions(t.Context())
	return a
}

func (a *admitted) write(t *testing.T, name, content string) {
	t.Helper()
	path := filepath.Join(a.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// list writes the clusters file.
func (a *admitted) list(t *testing.T, keys string) {
	t.Helper()
	a.write(t, "clusters.yaml", "clusters: [{name: main, kubeconfig: k.yaml, "+keys+"}, {name: other}]")
}

func (a *admitted) jump(to time.Time) { a.now.Store(&to) }

func (a *admitted) pass(d time.Duration) { a.jump(a.now.Load().Add(d)) }

func (a *admitted) state(t *testing.T) companionStatus {
	t.Helper()
	states := a.companions.status(a.reloader.Current().Loaded().Revision)
	if len(states) != 1 {
		t.Fatalf("got %+v, want the state of main", states)
	}
	return states[0]
}

func (a *admitted) post(t *testing.T, path, body string) string {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	r.Host = "localhost"
	r.Header.Set("Content-Type", "application/json")
	a.Handler().ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("%s: got %d %s", path, w.Code, w.Body)
	}
	return w.Body.String()
}

const sarPath = "/clusters/main/apis/authorization.k8s.io/v1/subjectaccessreviews"

// review answers "USER VERB RESOURCE[.API-GROUP][/SUBRESOURCE] [GROUP]".
func (a *admitted) review(t *testing.T, question string) string {
	t.Helper()
	words := strings.Fields(question)
	resource, sub, _ := strings.Cut(words[2], "/")
	resource, group, _ := strings.Cut(resource, ".")
	groups := ""
	if len(words) > 3 {
		groups = words[3]
	}
	answer := a.post(t, sarPath, fmt.Sprintf(`{"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","spec":{"user":%q,"groups":[%q],"resourceAttributes":{"namespace":"shop","name":"x","verb":%q,"group":%q,"resource":%q,"subresource":%q}}}`,
		words[0], groups, words[1], group, resource, sub))
	return outcomeOf(t, answer)
}

func outcomeOf(t *testing.T, answer string) string {
	t.Helper()
	var review struct {
		Status struct {
			Allowed, Denied bool
			EvaluationError string
		}
	}
	if err := json.Unmarshal([]byte(answer), &review); err != nil {
		t.Fatal(err)
	}
	out := "none"
	switch {
	case review.Status.Allowed:
		out = "allowed"
	case review.Status.Denied:
		out = "denied"
	}
	if strings.Contains(review.Status.EvaluationError, "deferred to admission") {
		out += ", deferred"
	}
	return out
}

func (a *admitted) wants(t *testing.T, what string, isDeferred bool) {
	t.Helper()
	for question, answers := range map[string][2]string{
		"ann delete configmaps": {"denied", "allowed, deferred"},
		"bob delete configmaps": {"denied", "none, deferred"},
		"bot patch configmaps":  {"none", "allowed, deferred"},
	} {
		want := answers[0]
		if isDeferred {
			want = answers[1]
		}
		if got := a.review(t, question); got != want {
			t.Errorf("%s: %s: got %s, want %s", what, question, got, want)
		}
	}
	state, metric := a.state(t), 0
	if isDeferred {
		metric = 1
	}
	if state.InForce != isDeferred || (state.Reason == "") != isDeferred {
		t.Errorf("%s: got status %+v", what, state)
	}
	if status, ok := a.status(true).(serverStatus); !ok || status.Degraded == isDeferred {
		t.Errorf("%s: got degraded %v", what, status.Degraded)
	}
	if want := fmt.Sprintf(`writ_companion_in_force{cluster="main"} %d`, metric); !strings.Contains(scrape(a.Server), want) {
		t.Errorf("%s: the metrics lack %s", what, want)
	}
}

// A review is deferred only where admission sees the object.
func TestDeferring(t *testing.T) {
	a := newAdmitted(t)
	a.wants(t, "in force", true)
	for question, want := range map[string]string{
		"ann get configmaps":                              "allowed",
		"ann create configmaps":                           "allowed",
		"ann deletecollection configmaps":                 "allowed, deferred",
		"ann delete configmaps/status":                    "denied",
		"ann delete metrics":                              "denied", // an aggregated API server may have it
		"ann DELETE configmaps":                           "denied",
		"ann delete CONFIGMAPS":                           "denied",
		"ann delete *":                                    "denied",
		"bot update configmaps":                           "allowed, deferred",
		"bot create configmaps":                           "none",
		"bot patch configmaps/scale":                      "none",
		"ann delete configmaps system:nodes":              "denied", // the companion leaves them out
		"ann delete configmaps system:masters":            "denied",
		"system:serviceaccount:kube-system:x delete pods": "denied",
	} {
		if got := a.review(t, question); got != want {
			t.Errorf("%s: got %s, want %s", question, got, want)
		}
	}
}

// Reviews of what an aggregated API server may serve are strict, and those of custom resources
// where API services cannot be listed.
func TestDeferringOfAPIGroups(t *testing.T) {
	a := newAdmitted(t)
	const service = `,"service":{"name":"s","namespace":"n"}`
	item := func(group, more string) string {
		return fmt.Sprintf(`{"spec":{"group":%q,"version":"v1"%s}}`, group, more)
	}
	list := func(items ...string) string {
		return `{"kind":"APIServiceList","apiVersion":"apiregistration.k8s.io/v1","items":[` + strings.Join(items, ",") + `]}`
	}
	whole := list(item("", ""), item("example.com", `,"service":null`), item("metrics.k8s.io", service), item("mixed.io", ""), item("mixed.io", service), item("other.io", service), item("other.io", ""),
		item("authorization.k8s.io", ""), item("admissionregistration.k8s.io", ""))
	const yes, no = "allowed, deferred", "denied"
	for _, row := range []struct {
		name, services string
		core, custom   string
	}{
		{"listed", whole, yes, yes},
		{"forbidden", "", yes, no},
		{"empty", list(), yes, no},
		{"another list", strings.Replace(whole, "APIServiceList", "List", 1), yes, no},
		{"text", "x", yes, no},
		{"the core group is served elsewhere", list(item("", service), item("example.com", "")), no, yes},
	} {
		if a.one.services.Store(&row.services); row.services == "" {
			a.one.services.Store(nil)
		}
		a.probeCompanions(t.Context())
		for question, want := range map[string]string{
			"ann delete configmaps": row.core, "ann delete widgets.example.com": row.custom, "ann delete pods.metrics.k8s.io": no, "ann delete x.mixed.io": no, "ann delete x.other.io": no,
			"ann delete x.unknown.io": no, "ann delete subjectaccessreviews.authorization.k8s.io": no, "ann delete validatingadmissionpolicybindings.admissionregistration.k8s.io": no,
			"ann delete *.example.com": no, "ann delete WIDGETS.example.com": no, "ann delete widgets.*": no,
		} {
			if got := a.review(t, question); got != want {
				t.Errorf("%s: %s: got %s, want %s", row.name, question, got, want)
			}
		}
	}
}

// The companion is that of the revision that decides the request, of no other.
func TestDeferringFollowsRevisions(t *testing.T) {
	a := newAdmitted(t)
	first := a.reloader.Current().Loaded().Revision
	r := &decision.Request{Cluster: "main", Resource: "configmaps"}
	if a.companions.InForce(first, r) == nil || a.companions.InForce("", r) != nil {
		t.Fatal("the companion of the active revision must be in force, and of it alone")
	}
	load := func(documents string) string {
		t.Helper()
		a.write(t, "policies/p.yaml", documents)
		if err := a.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		return a.reloader.Current().Loaded().Revision
	}
	// Another revision with the same companion: it is probed for that revision first.
	second := load(deferring + "---\n{kind: Role, apiVersion: writ.dev/v1, metadata: {name: unused, namespace: master}, rules: [{verbs: [get], resourceKinds: [ConfigMap]}]}\n")
	if second == first || !a.companions.isOutdated(second) {
		t.Fatal("want another revision, which is not probed")
	}
	a.wants(t, "reloaded, not probed", false)
	a.probeCompanions(t.Context())
	a.wants(t, "reloaded and probed", true)
	if a.companions.InForce(first, r) != nil || a.companions.isOutdated(second) {
		t.Error("a request of the revision before must be strict")
	}
	// A revision with another companion.
	third := load(strings.Replace(deferring, "[protected]", "[kept]", 1))
	a.wants(t, "changed, not probed", false)
	a.probeCompanions(t.Context())
	a.wants(t, "changed, the old companion in force", false)
	if a.companions.InForce(second, r) != nil || a.companions.InForce(third, r) != nil {
		t.Error("neither revision may be deferred")
	}
	a.one.refuse(a.state(t).Digest)
	a.two.refuse(a.state(t).Digest)
	a.probeCompanions(t.Context())
	a.wants(t, "changed, the new companion in force", true)
	load(deferring)
	a.wants(t, "back, the new companion in force", false)
}

// What the clusters file no longer says ends at once.
func TestDeferringFollowsClusters(t *testing.T) {
	a := newAdmitted(t)
	for name, keys := range map[string]string{
		"no companion": "", "off": "companion: false", "another tenant": fmt.Sprintf("tenant: t, companion: true, companionAddresses: [%q, %q]", a.one.URL, a.two.URL),
	} {
		a.list(t, keys)
		if changed, err := a.clusters.Reload(); !changed || err != nil {
			t.Fatal(changed, err)
		}
		if got := a.review(t, "ann delete configmaps"); got != "denied" {
			t.Errorf("%s: got %s, want denied", name, got)
		}
		a.list(t, fmt.Sprintf("companion: true, companionAddresses: [%q, %q]", a.one.URL, a.two.URL))
		if _, err := a.clusters.Reload(); err != nil {
			t.Fatal(err)
		}
		a.wants(t, name+", and back, not probed", false)
		a.probeCompanions(t.Context())
		a.wants(t, name+", and back", true)
	}
	if got := outcomeOf(t, a.post(t, strings.Replace(sarPath, "main", "other", 1), `{"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","spec":{"user":"ann","resourceAttributes":{"namespace":"shop","name":"x","verb":"delete","resource":"configmaps"}}}`)); got != "denied" {
		t.Errorf("a cluster without a companion: got %s, want denied", got)
	}
}

// No other endpoint answers with a deferred decision, or from one that is kept.
func TestDeferringStaysAtReviews(t *testing.T) {
	a := newAdmitted(t)
	go a.decisions.Run(t.Context())
	for range 3 {
		a.wants(t, "in force", true)
		for path, body := range map[string]string{
			"/v1/decisions/access":  `{"user":"ann","groups":[""],"verb":"delete","resource":"configmaps","namespace":"shop","name":"x","cluster":"main"}`,
			"/access/v1/evaluation": `{"subject":{"type":"user","id":"ann"},"action":{"name":"delete"},"resource":{"type":"configmaps","id":"x","properties":{"namespace":"shop"}}}`,
		} {
			if got := a.post(t, path, body); strings.Contains(got, "deferred") || strings.Contains(got, `"allowed":true`) || strings.Contains(got, `"decision":true`) {
				t.Errorf("%s: got %s, want the strict decision", path, got)
			}
		}
	}
	a.one.message.Store(nil)
	a.probeCompanions(t.Context())
	a.wants(t, "not in force any more", false)
	var log string
	for range 100 {
		content, err := os.ReadFile(filepath.Join(a.dir, "decisions.jsonl"))
		if log = string(content); err == nil && strings.Count(log, "\n") >= 18 {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	found := 0
	for line := range strings.Lines(log) {
		var event struct {
			Input  struct{ User, Verb string }
			Result struct {
				Allowed, Denied, Deferred bool
				Reason                    string
				Matched                   []struct {
					Name     string
					Deferred bool
				}
			}
		}
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatal(err)
		}
		d := event.Result
		if !d.Deferred {
			continue
		}
		found++
		if len(d.Matched) == 0 || !strings.HasPrefix(d.Reason, "deferred to admission: for some objects ") {
			t.Errorf("got %s, want the rules that match some objects", line)
		}
		if event.Input.User == "ann" && (len(d.Matched) != 2 || d.Matched[0].Name != "edit" || d.Matched[0].Deferred || d.Matched[1].Name != "careful" || !d.Matched[1].Deferred) {
			t.Errorf("got %s, want the rule that allows, and the denial on the object", line)
		}
	}
	if found != 9 {
		t.Errorf("got %d deferred decisions in the log, want 9: %s", found, log)
	}
}
