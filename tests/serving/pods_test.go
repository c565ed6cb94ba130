package serving

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// podDocuments are the documents of the server under test: everything is granted,
// so that "allowed" means not denied.
const podDocuments = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: everything}
rules: [{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: everything}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: everything}
subjects: [{kind: Group, apiGroup: rbac.authorization.k8s.io, name: "system:authenticated"}]
---
apiVersion: breakglass.t-caas.telekom.com/v1alpha1
kind: DenyPolicy
metadata: {name: strict}
spec:
  appliesTo: {clusters: ["prod-*"]}
  podSecurityRules:
    riskFactors: {hostNetwork: 80, hostPID: 70, hostIPC: 50, privilegedContainer: 90, runAsRoot: 40, capabilities: {NET_ADMIN: 50}}
    thresholds:
      - {maxScore: 30, action: allow}
      - {maxScore: 70, action: warn}
      - {maxScore: 100, action: deny, reason: "score {{.score}}: {{.factors}}"}
    blockFactors: ["hostIPC"]
    exemptions:
      namespaces:
        patterns: ["kube-system"]
        selectorTerms: [{matchLabels: {exec: unguarded}}]
---
apiVersion: breakglass.t-caas.telekom.com/v1alpha1
kind: DenyPolicy
metadata: {name: lenient}
spec:
  appliesTo: {clusters: ["test-*"]}
  podSecurityRules:
    riskFactors: {hostNetwork: 80}
    thresholds: [{maxScore: 70, action: allow}]
    failMode: open
---
apiVersion: breakglass.t-caas.telekom.com/v1alpha1
kind: DenyPolicy
metadata: {name: keep-production}
spec:
  rules:
    - verbs: [delete]
      apiGroups: ["apps"]
      resources: [deployments]
      namespaces: {selectorTerms: [{matchLabels: {env: prod}}]}
---
apiVersion: breakglass.t-caas.telekom.com/v1alpha1
kind: BreakglassEscalation
metadata: {name: sre-fix}
spec:
  escalatedGroup: sre-admins
  allowed: {clusters: ["prod-*"], groups: [sre]}
  approvers: {groups: [leads]}
  podSecurityOverrides: {enabled: true, maxAllowedScore: 100}
`

// podWorld is a server under test and the API servers it reads from.
type podWorld struct {
	t       *testing.T
	api     *apiServer
	address string
	audit   string
}

func newPodWorld(t *testing.T, flags ...string) *podWorld {
	return newPodWorldOf(t, podDocuments, flags...)
}

func newPodWorldOf(t *testing.T, documents string, flags ...string) *podWorld {
	w := &podWorld{t: t, api: newAPIServer(t)}
	dir := t.TempDir()
	policies := filepath.Join(dir, "policies")
	if err := os.Mkdir(policies, 0o755); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(policies, "documents.yaml"), documents)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	good := w.api.kubeconfig(dir, "good.yaml", w.api.token, true)
	w.api.kubeconfig(dir, "token.yaml", "another", true)
	w.api.kubeconfig(dir, "stranger.yaml", w.api.token, false)
	text, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "down.yaml"), strings.Replace(string(text), w.api.server.URL, "https://"+closed.Addr().String(), 1))
	clusters := writeFile(t, filepath.Join(dir, "clusters.yaml"), `clusters:
  - {name: prod-eu-1, kubeconfig: good.yaml, context: admin, tenant: bank, labels: {env: prod}, default: true}
  - {name: test-1, kubeconfig: good.yaml, context: admin}
  - {name: prod-down, kubeconfig: down.yaml, context: admin}
  - {name: test-down, kubeconfig: down.yaml, context: admin}
  - {name: prod-stranger, kubeconfig: stranger.yaml, context: admin}
  - {name: prod-token, kubeconfig: token.yaml, context: admin}
  - {name: prod-none}
`)
	w.audit = filepath.Join(dir, "audit.jsonl")
	// On a busy machine a decision may wait for its processor longer than servers allow.
	w.address = serve(t, append([]string{"--policies", policies, "--clusters", clusters, "--audit-file", w.audit,
		"--evaluation-timeout", "9s"}, flags...)...)
	for name, fields := range map[string]string{
		"plain": "", "network": `"hostNetwork":true,`, "ipc": `"hostIPC":true,`, "root": `"securityContext":{"runAsUser":0},`,
		"both": `"hostNetwork":true,"hostPID":true,`,
	} {
		for _, namespace := range []string{"shop", "kube-system", "labelled"} {
			w.pod(namespace, name, fields)
		}
	}
	w.api.namespaces["shop"], w.api.namespaces["labelled"], w.api.namespaces["kube-system"] = `{"env":"dev"}`, `{"exec":"unguarded"}`, `null`
	w.api.namespaces["production"] = `{"env":"prod"}`
	w.api.forbidden["shop/forbidden"] = true
	w.api.pods["shop/other"] = strings.ReplaceAll(w.api.pods["shop/plain"], `"plain"`, `"another"`)
	w.api.pods["shop/hollow"] = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"hollow","namespace":"shop"},"spec":{}}`
	w.api.pods["shop/none"] = `{"kind":"PodList","apiVersion":"v1","items":[]}`
	w.api.pods["shop/text"] = `not JSON`
	w.api.pods["shop/twice"] = strings.Replace(w.api.pods["shop/network"], `"hostNetwork":true`, `"hostNetwork":true,"hostNetwork":false`, 1)
	return w
}

func (w *podWorld) pod(namespace, name, fields string) {
	w.api.pods[namespace+"/"+name] = fmt.Sprintf(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":%q,"namespace":%q,"uid":"u","resourceVersion":"7",`+
		`"managedFields":[{"manager":"kubelet","operation":"Update"}]},"spec":{%s"newer":{"x":1.50},"containers":[{"name":"c","image":"i"}]},"status":{"phase":"Running"}}`,
		name, namespace, fields)
}

// podReview is a review, with the usual words where it does not say.
type podReview struct {
	cluster, verb, group, resource, subresource, namespace, name string
	groups, extra                                                string
}

func (r podReview) spec() string {
	or := func(text, usual string) string {
		if text == "" {
			return usual
		}
		return text
	}
	return fmt.Sprintf(`{"user":"alice","groups":["system:authenticated"%s],"extra":{%s},"resourceAttributes":{"verb":%q,"group":%q,"version":"v1","resource":%q,"subresource":%q,"namespace":%q,"name":%q}}`,
		r.groups, r.extra, or(r.verb, "create"), r.group, or(r.resource, "pods"), r.subresource, or(r.namespace, "shop"), r.name)
}

type reviewStatus struct {
	Allowed, Denied         bool
	Reason, EvaluationError string
}

func (w *podWorld) url(cluster string) string {
	path := "/apis/authorization.k8s.io/v1/subjectaccessreviews"
	if cluster != "" {
		path = "/clusters/" + cluster + path
	}
	return "http://" + w.address + path
}

func (w *podWorld) ask(r podReview) (status reviewStatus, err error) {
	response, err := http.Post(w.url(r.cluster)+"?timeout=30s", "application/json", strings.NewReader(reviewOf(r.spec())))
	if err != nil {
		return status, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return status, fmt.Errorf("%s: %s %w", response.Status, text, err)
	}
	var review struct{ Status reviewStatus }
	return review.Status, json.Unmarshal(text, &review)
}

// Pods are read by client-go, over TLS and HTTP/2 with a bearer token, from an API
// server of the test's own that has the paths, the Status objects and the
// authentication of a real one. That does not cover: a real API server's own
// order of authentication, authorization and admission, its caches and its
// priority and fairness (429); client certificates, exec credential plugins,
// token files that rotate and in-cluster configuration; proxies; HTTP/1.1
// fallback; pods as large as etcd takes; exec itself, whose two reviews and three
// reads are asked here one at a time.
func TestPodSecurityOverHTTP(t *testing.T) {
	w := newPodWorld(t)
	exec := func(name string) podReview { return podReview{subresource: "exec", name: name} }
	const escalation = `"writ.dev/escalation":["sre-fix"]`
	for _, tt := range []struct {
		name             string
		review           podReview
		allowed          bool
		reason, warnings string // parts of them
		pods, namespaces int64  // reads
		event            string // the outcome
	}{
		{"score over the threshold", exec("network"), false, "denied by DenyPolicy strict (pod security): score 80: hostNetwork", "", 1, 1, "pod_security.denied"},
		{"a safe pod", exec("plain"), true, "", "", 1, 1, "pod_security.allowed"},
		{"a warning", exec("root"), true, "", "strict: risk score 40 triggered the warning threshold", 1, 1, "pod_security.warning"},
		{"a block factor", exec("ipc"), false, "blocked factor detected: hostIPC", "", 1, 1, "pod_security.denied"},
		{"an exempt namespace", podReview{subresource: "exec", name: "network", namespace: "kube-system"}, true, "", "", 1, 1, "pod_security.allowed"},
		{"a namespace exempt by its labels", podReview{subresource: "exec", name: "network", namespace: "labelled"}, true, "", "", 1, 1, "pod_security.allowed"},
		{"the fetch fails, closed", exec("missing"), false, "pod spec unavailable (fail-closed): pod not found", "", 1, 1, "pod_security.denied"},
		{"the fetch fails, open", podReview{cluster: "test-1", subresource: "exec", name: "missing"}, true, "", "lenient: pod spec unavailable, not evaluated (fail-open): pod not found", 1, -1, "pod_security.allowed"},
		{"attach", podReview{subresource: "attach", name: "network"}, false, "score 80: hostNetwork", "", 1, 1, "pod_security.denied"},
		{"portforward", podReview{subresource: "portforward", verb: "get", name: "network"}, false, "score 80: hostNetwork", "", 1, 1, "pod_security.denied"},
		{"a subresource out of scope", podReview{subresource: "log", verb: "get", name: "network"}, true, "", "", 0, 0, ""},
		{"the pod itself", podReview{verb: "get", name: "network"}, true, "", "", 0, 0, ""},
		{"portforward of something else", podReview{group: "subresources.kubevirt.io", resource: "virtualmachineinstances", subresource: "portforward", name: "network"}, true, "", "", 0, 0, ""},
		{"an escalation's override", podReview{subresource: "exec", name: "network", groups: `,"sre"`, extra: escalation}, true, "", "", 1, 1, "pod_security.override"},
		{"the escalation of another group", podReview{subresource: "exec", name: "network", extra: escalation}, false, "score 80", "", 1, 1, "pod_security.denied"},
		{"an override does not go further", podReview{subresource: "exec", name: "both", groups: `,"sre"`, extra: escalation}, false, "risk score 150 exceeds all thresholds", "", 1, 1, "pod_security.denied"},
		{"two escalations", podReview{subresource: "exec", name: "plain", groups: `,"sre"`, extra: `"writ.dev/escalation":["sre-fix","x"]`}, false, "more than one value of writ.dev/escalation", "more than one value", 0, 0, ""},
		{"two sessions", podReview{subresource: "exec", name: "plain", extra: `"writ.dev/session":["a","b"]`}, false, "more than one value of writ.dev/session", "", 0, 0, ""},

		{"forbidden", exec("forbidden"), false, "(fail-closed): access to the pod is forbidden", "", 1, 1, "pod_security.denied"},
		{"no name", exec(""), false, "(fail-closed): the request has no pod name", "", 0, 1, "pod_security.denied"},
		{"a name that is a path", exec("a/../network"), false, "(fail-closed): the request has no valid pod name", "", 0, 1, "pod_security.denied"},
		{"another pod", exec("other"), false, "(fail-closed)", "", 1, 1, "pod_security.denied"},
		{"a hollow pod", exec("hollow"), false, "(fail-closed)", "", 1, 1, "pod_security.denied"},
		{"no pod at all", exec("none"), false, "(fail-closed): the API server's response is not a Pod", "", 1, 1, "pod_security.denied"},
		{"no JSON", exec("text"), false, "(fail-closed): the API server's response is not a Pod", "", 1, 1, "pod_security.denied"},
		{"a field twice", exec("twice"), false, "(fail-closed): the API server's response is not a Pod", "", 1, 1, "pod_security.denied"},
		{"connection refused", podReview{cluster: "prod-down", subresource: "exec", name: "plain"}, false, "(fail-closed): connection refused", "", 0, 0, "pod_security.denied"},
		{"connection refused, open", podReview{cluster: "test-down", subresource: "exec", name: "plain"}, true, "", "(fail-open): connection refused", 0, 0, "pod_security.allowed"},
		{"a stranger's certificate", podReview{cluster: "prod-stranger", subresource: "exec", name: "plain"}, false, "(fail-closed): TLS failure", "", 0, 0, "pod_security.denied"},
		{"a token that is not good", podReview{cluster: "prod-token", subresource: "exec", name: "plain"}, false, "(fail-closed): the cluster rejected the credentials", "", 0, 0, "pod_security.denied"},
		{"no way to the cluster", podReview{cluster: "prod-none", subresource: "exec", name: "plain"}, false, "pod spec unavailable (fail-closed)", "", 0, 0, "pod_security.denied"},
		{"an unknown cluster", podReview{cluster: "prod-eu-9", verb: "get", name: "plain"}, false, "the cluster of the review is not listed", "not listed", 0, 0, ""},

		{"labels decide: production", podReview{verb: "delete", group: "apps", resource: "deployments", namespace: "production", name: "d"}, false, "denied by DenyPolicy keep-production, rule 0", "", 0, 1, "access.denied.policy"},
		{"labels decide: not production", podReview{verb: "delete", group: "apps", resource: "deployments", name: "d"}, true, "", "", 0, 1, ""},
		{"labels that cannot be read", podReview{verb: "delete", group: "apps", resource: "deployments", namespace: "nowhere", name: "d"}, false, "namespace labels are unknown (fail-closed)", "", 0, 1, "access.denied.policy"},
		{"labels do not matter", podReview{verb: "update", group: "apps", resource: "deployments", name: "d"}, true, "", "", 0, 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for range 2 { // the second time as the first: nothing is kept
				before := len(w.events())
				pods, namespaces := w.api.podReads.Load(), w.api.namespaceReads.Load()
				got, err := w.ask(tt.review)
				if err != nil {
					t.Fatal(err)
				}
				if got.Allowed != tt.allowed || got.Denied == tt.allowed {
					t.Errorf("got %+v, want allowed %v", got, tt.allowed)
				}
				if !strings.Contains(got.Reason, tt.reason) || !strings.Contains(got.EvaluationError, tt.warnings) {
					t.Errorf("got %+v, want %q and %q", got, tt.reason, tt.warnings)
				}
				if strings.Contains(got.Reason+got.EvaluationError, "secret") {
					t.Errorf("got %+v, which holds what the API server said", got)
				}
				if got := w.api.podReads.Load() - pods; got != tt.pods {
					t.Errorf("got %d reads of pods, want %d", got, tt.pods)
				}
				if got := w.api.namespaceReads.Load() - namespaces; tt.namespaces >= 0 && got != tt.namespaces {
					t.Errorf("got %d reads of namespaces, want %d", got, tt.namespaces)
				}
				w.wantOutcome(w.events()[before:], tt.event)
			}
		})
	}
	w.wantMetrics(
		`breakglass_pod_security_evaluations_total{action="deny",cluster="prod-down",policy="strict"} 2`,
		`breakglass_pod_security_evaluations_total{action="allow",cluster="test-1",policy="lenient"} 2`,
		`breakglass_pod_security_denied_total{cluster="prod-down",policy="strict"} 2`,
		`breakglass_pod_security_warnings_total{cluster="prod-eu-1",policy="strict"} 2`,
		`breakglass_pod_security_factors_total{cluster="prod-eu-1",factor="hostIPC"} 2`,
		`breakglass_pod_security_risk_score_bucket{cluster="prod-eu-1",le="10"} 2`,
	)
}

type auditEvent struct{ Event, Severity, PolicyName, User, Cluster, Action string }

// events are what the audit file holds.
func (w *podWorld) events() []auditEvent {
	w.t.Helper()
	file, err := os.Open(w.audit)
	if err != nil {
		w.t.Fatal(err)
	}
	defer file.Close()
	var events []auditEvent
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var e auditEvent
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			w.t.Fatal(err)
		}
		events = append(events, e)
	}
	return events
}

func (w *podWorld) wantOutcome(events []auditEvent, want string) {
	w.t.Helper()
	var got []string
	for _, e := range events {
		if e.Event != "pod_security.evaluated" {
			got = append(got, e.Event)
		}
		if e.PolicyName == "" || e.User != "alice" || e.Cluster == "" || e.Action == "" {
			w.t.Errorf("got %+v, which lacks something", e)
		}
	}
	if strings.Join(got, " ") != want {
		w.t.Errorf("got events %q, want %q", got, want)
	}
}

func (w *podWorld) wantMetrics(lines ...string) {
	w.t.Helper()
	response, err := http.Get("http://" + w.address + "/metrics")
	if err != nil {
		w.t.Fatal(err)
	}
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, line := range lines {
		if !strings.Contains(string(page), line+"\n") {
			w.t.Errorf("got no metric %s", line)
		}
	}
}

// The API server asks about the reads of pods before it answers them, and the
// server under test has fewer places than there are execs: all get through.
func TestReadsThatComeBackAsReviews(t *testing.T) {
	w := newPodWorld(t, "--max-in-flight", "16", "--fetch-timeout", "10s")
	url := w.url("prod-eu-1")
	w.api.authorizer.Store(&url)
	const clients, each = 16, 10
	wrong := make(chan string, clients*each)
	var asking sync.WaitGroup
	for range clients {
		asking.Go(func() {
			for range each {
				if got, err := w.ask(podReview{subresource: "exec", name: "plain"}); err != nil || !got.Allowed {
					wrong <- fmt.Sprint(got, err)
				}
			}
		})
	}
	asking.Wait()
	close(wrong)
	if len(wrong) > 0 {
		t.Errorf("got %d of %d execs refused, the first: %s", len(wrong), clients*each, <-wrong)
	}
	if got := w.api.reviews.Load(); got < clients*each {
		t.Errorf("got %d reads that came back, want %d and more", got, clients*each)
	}
}

// A rule that selects by labels covers our own reads of namespaces, which come back
// as reviews: to read the labels in order to read the labels would have no end.
// Requests that depend on them are denied at once, unless the API server does not
// authorize our reads.
func TestReadsThatDependOnThemselves(t *testing.T) {
	w := newPodWorldOf(t, podDocuments+`---
apiVersion: breakglass.t-caas.telekom.com/v1alpha1
kind: DenyPolicy
metadata: {name: whatever-in-production}
spec:
  rules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: {selectorTerms: [{matchLabels: {env: prod}}]}}]
`)
	look := podReview{verb: "get", resource: "namespaces", name: "shop"}
	if got, err := w.ask(look); err != nil || !got.Allowed {
		t.Errorf("without authorization of our reads: got %+v, %v", got, err)
	}
	url := w.url("prod-eu-1")
	w.api.authorizer.Store(&url)
	for _, tt := range []struct {
		name   string
		review podReview
		reason string
	}{
		{"a namespace", look, "whatever-in-production, rule 0: namespace labels are unknown (fail-closed)"},
		{"a pod", podReview{verb: "get", name: "plain"}, "whatever-in-production, rule 0: namespace labels are unknown (fail-closed)"},
		{"an exec", podReview{subresource: "exec", name: "plain"}, "(fail-closed): access to the pod is forbidden"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := w.api.namespaceReads.Load()
			got, err := w.ask(tt.review)
			if err != nil || !got.Denied || !strings.Contains(got.Reason, tt.reason) {
				t.Errorf("got %+v, %v; want %q", got, err, tt.reason)
			}
			if reads := w.api.namespaceReads.Load() - before; reads != 1 {
				t.Errorf("got %d reads of namespaces, want 1", reads)
			}
		})
	}
}

// An API server that does not answer holds up the reviews that need a pod of it,
// until their time is up, and no others.
func TestASlowAPIServer(t *testing.T) {
	w := newPodWorld(t, "--max-in-flight", "16", "--max-fetches", "4", "--fetch-timeout", "1s")
	hold := make(chan struct{})
	w.api.hold.Store(&hold)
	defer close(hold)
	const execs = 16
	reasons := make(chan string, execs)
	for range execs {
		go func() {
			got, err := w.ask(podReview{subresource: "exec", name: "plain"})
			reasons <- fmt.Sprint(got.Denied, " ", got.Reason, err)
		}()
	}
	for deadline := time.Now().Add(patience); w.api.podReads.Load() < 4; {
		if time.Now().After(deadline) {
			t.Fatal("the pods were not read")
		}
		if got, err := w.ask(podReview{verb: "get", name: "plain"}); err != nil || !got.Allowed {
			t.Fatalf("another review: got %+v, %v", got, err)
		}
	}
	began := time.Now() // one second for each review if they wait for the pods
	for i := range 50 {
		got, err := w.ask(podReview{verb: "get", resource: "services", name: fmt.Sprint("s", i)})
		if err != nil || !got.Allowed {
			t.Fatalf("another review: got %+v, %v", got, err)
		}
	}
	if took := time.Since(began); took > 25*time.Second {
		t.Errorf("other reviews took %v", took)
	}
	counts := map[string]int{}
	for range execs {
		counts[<-reasons]++
	}
	const denied = "true denied by DenyPolicy strict (pod security): pod spec unavailable (fail-closed): "
	// Who is next when the time of the first four is up may still get their place.
	if timeouts, waited := counts[denied+"timeout<nil>"], counts[denied+"too many pods are being read<nil>"]; timeouts < 4 || timeouts+waited != execs {
		t.Errorf("got %v", counts)
	}
}
