package server

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/writ-policy/writ/analysis/companion"
)

// apiServer answers probes as an API server with a companion does.
type apiServer struct {
	*httptest.Server
	message atomic.Pointer[string] // of refusals; nil: probes pass
	slices  atomic.Int64
	// services is the list of API services; nil: the probe may not list them.
	services atomic.Pointer[string]
}

func newAPIServer(t *testing.T) *apiServer {
	a := &apiServer{}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/apis/apiregistration.k8s.io/v1/apiservices" {
			if list := a.services.Load(); list != nil {
				fmt.Fprint(w, *list)
				return
			}
			w.WriteHeader(http.StatusForbidden)
			return
		}
		if r.Method != http.MethodPost || r.URL.Path != "/api/v1/namespaces/probes/configmaps" || r.URL.Query().Get("dryRun") != "All" || !strings.Contains(string(body), companion.ProbeName) {
			t.Errorf("got %s %s, want a dry run of the probe", r.Method, r.URL)
		}
		if message := a.message.Load(); message != nil {
			a.slices.Add(1)
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":%q}`, *message)
			return
		}
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, `{"kind":"ConfigMap","apiVersion":"v1"}`)
	}))
	t.Cleanup(a.Close)
	return a
}

func (a *apiServer) refuse(digest string) { a.say(refusal(1, digest)) }

func (a *apiServer) say(message string) { a.message.Store(&message) }

// refusal is the message of a slice that refuses its probe.
func refusal(slice int, digest string) string {
	return fmt.Sprintf(`configmaps "%s" is forbidden: ValidatingAdmissionPolicy 'writ-companion-%[2]d' with binding 'writ-companion-%[2]d' denied request: %s`,
		companion.ProbeName, slice, companion.ProbeMessage(digest))
}

const byLabel = `kind: Role
apiVersion: writ.dev/v1
metadata: {name: r, namespace: master}
rules: [{deny: true, verbs: [delete], resourceKinds: [secrets], attributeRestrictions: {labelsContain: [%s]}}]
---
{kind: RoleBinding, apiVersion: writ.dev/v1, metadata: {name: r, namespace: master}, roleRef: {name: r}, userNames: [ann]}
`

// The companion of each API server is probed. It is not in force if it is missing, of another
// revision, or missing on one of them, and a revision that changes it is logged.
func TestCompanions(t *testing.T) {
	one, two := newAPIServer(t), newAPIServer(t)
	dir, documents := t.TempDir(), t.TempDir()
	policies := func(label string) {
		if err := os.WriteFile(filepath.Join(documents, "p.yaml"), fmt.Appendf(nil, byLabel, label), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	policies("protected")
	for name, content := range map[string]string{
		"k.yaml":        fmt.Sprintf("{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: %q}}], contexts: [{name: c, context: {cluster: c}}]}", one.URL),
		"clusters.yaml": fmt.Sprintf("clusters: [{name: main, kubeconfig: k.yaml, companion: true, companionAddresses: [%q, %q]}, {name: other}]", one.URL, two.URL),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var log strings.Builder
	c := Defaults()
	c.Policies, c.Clusters.File, c.Clusters.ProbeNamespace = []string{documents}, filepath.Join(dir, "clusters.yaml"), "probes"
	c.Logger = slog.New(slog.NewTextHandler(&log, nil))
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	probe := func() companionStatus {
		t.Helper()
		s.probeCompanions(t.Context())
		states := s.companions.status(s.reloader.Current().Loaded().Revision)
		if len(states) != 1 || states[0].Cluster != "main" {
			t.Fatalf("got %+v, want the state of main", states)
		}
		return states[0]
	}
	if state := probe(); state.InForce || state.Reason != "no revision is active" {
		t.Errorf("got %+v without a revision", state)
	}
	if err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	state := probe()
	if state.InForce || !strings.Contains(state.Reason, "slice 1: the probe passes") {
		t.Errorf("got %+v without a companion", state)
	}
	one.refuse(state.Digest)
	if state = probe(); state.InForce || !strings.Contains(state.Reason, two.URL) {
		t.Errorf("got %+v with a companion on one API server of two", state)
	}
	two.refuse(strings.Repeat("a", 64))
	if state = probe(); state.InForce || !strings.Contains(state.Reason, "companion aaaaaaaaaaaa is in force, not "+state.Digest[:12]) {
		t.Errorf("got %+v with a companion of another revision", state)
	}
	two.refuse("not a digest")
	if state = probe(); state.InForce || !strings.Contains(state.Reason, "does not answer the probe") {
		t.Errorf("got %+v with another refusal", state)
	}
	two.refuse(state.Digest)
	if state = probe(); !state.InForce || state.Reason != "" {
		t.Errorf("got %+v, want it in force", state)
	}
	for _, want := range []string{`writ_companion_in_force{cluster="main"} 1`} {
		if got := scrape(s); !strings.Contains(got, want) {
			t.Errorf("metrics lack %s", want)
		}
	}
	policies("kept")
	if err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := state.Digest
	if state = probe(); state.InForce || state.Digest == before || !strings.Contains(state.Reason, "is in force, not") {
		t.Errorf("got %+v after a change of the documents, want another digest", state)
	}
	if got := scrape(s); !strings.Contains(got, `writ_companion_in_force{cluster="main"} 0`) {
		t.Error("the metric must show that the companion is not in force")
	}
	for _, want := range []string{"this revision changes the companion of a cluster", "before=" + before, "the companion is in force", "the companion is not in force"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q", want)
		}
	}
	if status, ok := s.status(true).(serverStatus); !ok || len(status.Companions) != 1 {
		t.Errorf("got status %+v, want the companion", status)
	}
}

func scrape(s *Server) string {
	w := httptest.NewRecorder()
	s.metrics.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return w.Body.String()
}
