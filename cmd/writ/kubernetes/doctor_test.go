package kubernetes

import (
	"crypto/sha256"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/analysis/companion"
)

// chain is the files of a chain, a server that answers as writ, and one that answers as an
// API server.
type chain struct {
	dir, admin string
	doctor     Doctor
	// answers are the bodies by path; a number is a status.
	answers map[string]string
}

func newChain(t *testing.T) *chain {
	t.Helper()
	c := &chain{dir: t.TempDir(), answers: map[string]string{
		"/v1/status":            `{"version":"v1","ready":true}`,
		"/version":              `{"major":"1","minor":"36","gitVersion":"v1.36.3"}`,
		"/admin" + reviewSuffix: `{"kind":"SubjectAccessReview","status":{"allowed":true}}`,
		reviewSuffix:            `{"kind":"SubjectAccessReview","status":{"allowed":false}}`,
	}}
	server := httptest.NewTLSServer(http.HandlerFunc(c.serve))
	t.Cleanup(server.Close)
	c.write(t, "ca.crt", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	c.write(t, "token", []byte("secret"))
	config := Config{
		URL: server.URL, Identities: []string{"system:serviceaccount:writ:writ"}, Folder: c.dir, CA: filepath.Join(c.dir, "ca.crt"),
		Token: filepath.Join(c.dir, "token"), Pods: true, TTL: 10 * time.Second,
	}
	files, err := config.Files()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		c.write(t, f.Name, f.Content)
	}
	c.admin = filepath.Join(c.dir, "admin")
	admin := strings.Replace(c.read(t, "webhook.kubeconfig"), reviewSuffix, "", 1)
	c.write(t, "admin", []byte(admin))
	c.doctor = Doctor{
		Authorization: filepath.Join(c.dir, "authorization.yaml"), Kubeconfig: c.admin, Identities: config.Identities, Pods: true,
		Version: "v1", Timeout: time.Minute,
	}
	return c
}

// serve answers for both servers: only an API server answers a review with 201.
func (c *chain) serve(w http.ResponseWriter, r *http.Request) {
	content, _ := os.ReadFile(c.doctor.Authorization)
	path := r.URL.Path
	if path == "/metrics" && c.answers[path] == "" {
		fmt.Fprintf(w, "apiserver_authorization_config_controller_last_config_info{apiserver_id_hash=\"x\",hash=\"sha256:%x\"} 1\n", sha256.Sum256(content))
		return
	}
	var code int
	isServer := path == reviewSuffix && !strings.Contains(readBody(r), "writ:doctor")
	if isServer {
		path = "/admin" + path
	}
	switch _, err := fmt.Sscanf(c.answers[path], "%d", &code); {
	case r.Header.Get("Authorization") != "Bearer secret":
		w.WriteHeader(http.StatusUnauthorized)
	case err == nil:
		w.WriteHeader(code)
	default:
		if isServer {
			w.WriteHeader(http.StatusCreated)
		}
		fmt.Fprint(w, c.answers[path])
	}
}

func readBody(r *http.Request) string {
	var text strings.Builder
	buffer := make([]byte, 1<<12)
	for {
		n, err := r.Body.Read(buffer)
		text.Write(buffer[:n])
		if err != nil {
			return text.String()
		}
	}
}

func (c *chain) write(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func (c *chain) read(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(c.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// replace edits a file. The text must be in it.
func replace(name, old, text string) func(*testing.T, *chain) {
	return func(t *testing.T, c *chain) {
		t.Helper()
		content := c.read(t, name)
		if !strings.Contains(content, old) {
			t.Fatalf("%s does not contain %s", name, old)
		}
		c.write(t, name, []byte(strings.ReplaceAll(content, old, text)))
	}
}

func answer(path, body string) func(*testing.T, *chain) {
	return func(_ *testing.T, c *chain) { c.answers[path] = body }
}

// The files that writ writes pass every check, and each fault is found.
func TestDoctor(t *testing.T) {
	const file, config = "authorization.yaml", "webhook.kubeconfig"
	for _, row := range []struct {
		name   string
		change func(*testing.T, *chain)
		// want is "SEVERITY CHECK" and a part of the message; empty: every check passes.
		want, message string
	}{
		{"what writ writes", nil, "", ""},
		{"no file", func(_ *testing.T, c *chain) { c.doctor.Authorization += "x" }, "error configuration", "no such file"},
		{"not YAML", replace(file, "kind: Auth", "kind: [Auth"), "error configuration", "not YAML"},
		{"an unknown field", replace(file, "failurePolicy:", "failPolicy:"), "error configuration", `no field "failPolicy"`},
		{"another kind", replace(file, "kind: AuthorizationConfiguration", "kind: EncryptionConfiguration"), "error configuration", "kind must be"},
		{"not a duration", replace(file, "timeout: 3s", "timeout: three"), "error configuration", "must be a duration"},
		{"no webhook", replace(file, "type: Webhook", "type: Other"), "error configuration", "no authorizer is a webhook"},
		{"another webhook", func(_ *testing.T, c *chain) { c.doctor.Webhook = "other" }, "error configuration", `webhook "other" not found`},
		{"two webhooks", replace(file, "type: RBAC", "type: Webhook"), "error configuration", "several webhooks"},
		{"RBAC first", replace(file, "type: Node", "type: RBAC"), "error order", "RBAC stands before writ"},
		{"AlwaysAllow last", replace(file, "type: RBAC", "type: AlwaysAllow"), "error order", "AlwaysAllow allows"},
		{"nodes wait", replace(file, "- type: Node\n  name: node\n", ""), "warning order", "nodes wait"},
		{"no RBAC", replace(file, "- type: RBAC\n  name: rbac\n", ""), "warning order", "no opinion"},
		{"fails open", replace(file, "failurePolicy: Deny", "failurePolicy: NoOpinion"), "error failure", "other authorizers allow"},
		{"a long timeout", replace(file, "timeout: 3s", "timeout: 31s"), "error timeout", "at most 30s"},
		{"a slow timeout", replace(file, "timeout: 3s", "timeout: 20s"), "warning timeout", "users wait 20s"},
		{"a short timeout", replace(file, "timeout: 3s", "timeout: 10ms"), "warning timeout", "less than"},
		{"pods are kept", replace(file, "cacheAuthorizedRequests: false", "cacheAuthorizedRequests: true"), "error cache", "stays allowed for 10s"},
		{"a long TTL", replace(file, "unauthorizedTTL: 10s", "unauthorizedTTL: 10m"), "warning cache", "kept for 10m0s"},
		{"the default TTL", replace(file, "    unauthorizedTTL: 10s\n", ""), "warning cache", "kept for 30s"},
		{"reviews of v1beta1", replace(file, "subjectAccessReviewVersion: v1", "subjectAccessReviewVersion: v1beta1"), "error versions", "must be v1"},
		{"a self-loop", replace(file, `system:serviceaccount:writ:writ`, "system:serviceaccount:writ:other"), "error conditions", "its own requests"},
		{"no identity", func(_ *testing.T, c *chain) { c.doctor.Identities = nil }, "warning conditions", "not checked"},
		{"nodes are asked about", replace(file, `"system:nodes", `, ""), "warning conditions", "requests of nodes"},
		{"probes are asked about", replace(file, `"/livez", `, ""), "warning conditions", "requests of probes"},
		{"a condition that fails", replace(file, "!has(request.nonResourceAttributes) || ", ""), "error conditions", "the expression fails"},
		{"not CEL", replace(file, "!has(request.nonResourceAttributes) || ", "!has( || "), "error conditions", ""},
		{"no user is asked about", replace(file, "!has(request.nonResourceAttributes) || !", "has(request.nonResourceAttributes) && "), "warning conditions", "is not asked about a user"},
		{"no kubeconfig", replace(file, "webhook.kubeconfig", "none"), "error connection", "no such file"},
		{"another path", replace(config, reviewSuffix, "/authorize"), "error connection", "does not name writ's reviews"},
		{"plain text", replace(config, "https://127.0.0.1", "http://writ.invalid"), "error connection", "plain text"},
		{"another authority", replace(config, "certificate-authority:", "tls-server-name:"), "error connection", "writ does not answer"},
		{"a wrong token", func(t *testing.T, c *chain) {
			replace(config, "/token", "/other")(t, c)
			c.write(t, "other", []byte("wrong"))
		}, "error connection", "does not accept the credentials"},
		{"another server", answer(reviewSuffix, "hello"), "error connection", "not a SubjectAccessReview"},
		{"a failure", answer(reviewSuffix, "503"), "error connection", "503"},
		{"no decision", answer(reviewSuffix, `{"kind":"SubjectAccessReview","status":{"evaluationError":"no revision"}}`), "error connection", "no revision"},
		{"not ready", answer("/v1/status", `{"ready":false}`), "error writ", "not ready"},
		{"an older revision", answer("/v1/status", `{"ready":true,"degraded":true}`), "warning writ", "older revision"},
		{"another version", answer("/v1/status", `{"ready":true,"version":"v2"}`), "warning writ", "v2"},
		{"no status", answer("/v1/status", "403"), "warning writ", "cannot be read"},
		{"an old API server", answer("/version", `{"minor":"29","gitVersion":"v1.29.0"}`), "error API server", "v1.29.0"},
		{"an API server of v1beta1", answer("/version", `{"minor":"31+"}`), "warning API server", "does not read"},
		{"no version", answer("/version", "500"), "error API server", "cannot be read"},
		{"another file is loaded", answer("/metrics", `apiserver_authorization_config_controller_last_config_info{apiserver_id_hash="x",hash="sha256:0"} 1`), "error loaded", "another"},
		{"a change that is not loaded", answer("/metrics", `apiserver_authorization_config_controller_automatic_reload_last_timestamp_seconds{apiserver_id_hash="x",status="failure"} 2e9`), "error loaded", "could not load"},
		{"no file is loaded", answer("/metrics", "up 1"), "warning loaded", "does not state"},
		{"no metrics", answer("/metrics", "403"), "warning loaded", "cannot be read"},
		{"no grants", answer("/admin"+reviewSuffix, `{"kind":"SubjectAccessReview","status":{"allowed":false}}`), "error identity", "may not get pods"},
		{"no grant for facts", func(t *testing.T, c *chain) {
			c.doctor.Objects = []string{"deployments.apps"}
			answer("/admin"+reviewSuffix, `{"kind":"SubjectAccessReview","status":{"allowed":false}}`)(t, c)
		}, "error identity", "may not get deployments.apps"},
		{"a user with a percent sign", func(_ *testing.T, c *chain) { c.doctor.Identities = []string{"50%d"} }, "ok identity", `"50%d" may get pods, namespaces`},
		{"grants cannot be read", answer("/admin"+reviewSuffix, "403"), "warning identity", "is not known"},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := newChain(t)
			if row.change != nil {
				row.change(t, c)
			}
			findings := c.doctor.Examine(t.Context())
			found := slices.ContainsFunc(findings, func(f Finding) bool {
				return f.Severity+" "+f.Check == row.want && strings.Contains(f.Message, row.message)
			})
			for _, f := range findings {
				if (f.Hint == "") != (f.Severity == passedSeverity) {
					t.Errorf("%s: the hint is %q", f.Message, f.Hint)
				}
			}
			if row.want == "" {
				found = len(findings) > 8 && !slices.ContainsFunc(findings, func(f Finding) bool { return f.Severity != passedSeverity })
			}
			if !found {
				t.Errorf("got %+v, want %s with %q", findings, row.want, row.message)
			}
		})
	}
}

// answeredBy is the answer of an API server whose slice refuses its probe.
func answeredBy(slice int, digest string) string {
	return fmt.Sprintf(`{"message":"configmaps \"%s\" is forbidden: ValidatingAdmissionPolicy 'writ-companion-%[2]d' with binding 'writ-companion-%[2]d' denied request: %s"}`,
		companion.ProbeName, slice, companion.ProbeMessage(digest))
}

// The companion must be in force on each API server, in every slice and as it was printed.
func TestDoctorCompanion(t *testing.T) {
	digest, other := strings.Repeat("a", 64), strings.Repeat("b", 64)
	const path = "/api/v1/namespaces/writ/configmaps"
	for _, row := range []struct {
		name, answer string
		address      string
		edit         func(*testing.T, *chain)
		want         string // severity, and a part of the message
	}{
		{"in force", answeredBy(1, digest), "", nil, "ok companion aaaaaaaaaaaa is in force"},
		{"stale", answeredBy(1, other), "", nil, "error slice 1 in force is of companion bbbbbbbbbbbb, not aaaaaaaaaaaa"},
		{"of another slice", answeredBy(2, digest), "", nil, "error whether slice 1 is in force is not known"},
		{"said by another component", `{"message":"` + companion.ProbeMessage(digest) + `"}`, "", nil, "error whether slice 1 is in force is not known"},
		{"deleted", "201", "", nil, "error slice 1 is not in force"},
		{"another refusal", "403", "", nil, "error whether slice 1 is in force is not known"},
		{"no namespace", "404", "", nil, `error namespace "writ" does not exist`},
		{"no server", "201", "127.0.0.1:1", nil, "error the API server does not answer"},
		{"no address", "201", "::", nil, "error the address cannot be read"},
		{"no files", "201", "", func(t *testing.T, c *chain) { c.doctor.Companion = t.TempDir() }, "error the folder has no companion"},
		{"two companions", "201", "", func(t *testing.T, c *chain) { c.write(t, "c/2.yaml", []byte(slice("s2", other))) }, "error 2.yaml: the slices are of different companions"},
		{"static without the suffix", "201", "", func(t *testing.T, c *chain) {
			c.write(t, "admission.yaml", nil)
			c.doctor.Companion = c.dir
		}, `error 1.yaml: an API server does not start with ValidatingAdmissionPolicy "s1"`},
	} {
		c := newChain(t)
		for _, folder := range []string{"c", "policies"} {
			if err := os.MkdirAll(filepath.Join(c.dir, folder), 0o700); err != nil {
				t.Fatal(err)
			}
			c.write(t, folder+"/1.yaml", []byte(slice("s1", digest)))
		}
		c.answers[path], c.doctor.Companion, c.doctor.ProbeNamespace = row.answer, filepath.Join(c.dir, "c"), "writ"
		if row.address != "" {
			c.doctor.Addresses = []string{row.address}
		}
		if row.edit != nil {
			row.edit(t, c)
		}
		var got []string
		for _, f := range c.doctor.Examine(t.Context()) {
			got = append(got, f.Severity+" "+f.Message)
		}
		if !slices.ContainsFunc(got, func(f string) bool { return strings.HasPrefix(f, row.want) }) {
			t.Errorf("%s: got %q, want %q", row.name, got, row.want)
		}
	}
}

// slice is a policy of a companion.
func slice(name, digest string) string {
	return "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata:\n  name: " + name + "\n  annotations: {writ.dev/companion: " + digest + "}\n"
}

// An API server that is too old for static manifests, or has them off, does not read them.
func TestDoctorFeatureGate(t *testing.T) {
	digest := strings.Repeat("a", 64)
	for metrics, want := range map[string]string{
		"x 1": "error the API server does not know the feature gate",
		`kubernetes_feature_enabled{name="ManifestBasedAdmissionControlConfig",stage="BETA"} 0`: "error the feature gate ManifestBasedAdmissionControlConfig is off",
		`kubernetes_feature_enabled{name="ManifestBasedAdmissionControlConfig",stage="BETA"} 1`: "ok the API server reads static manifests",
	} {
		c := newChain(t)
		c.answers["/metrics"], c.answers["/api/v1/namespaces/writ/configmaps"] = metrics+"\n", answeredBy(1, digest)
		if err := os.MkdirAll(filepath.Join(c.dir, "policies"), 0o700); err != nil {
			t.Fatal(err)
		}
		c.write(t, "policies/1.yaml", []byte(slice("s1.static.k8s.io", digest)))
		c.write(t, "admission.yaml", nil)
		c.doctor.Companion, c.doctor.ProbeNamespace = c.dir, "writ"
		var got []string
		for _, f := range c.doctor.Examine(t.Context()) {
			got = append(got, f.Severity+" "+f.Message)
		}
		if !slices.ContainsFunc(got, func(f string) bool { return strings.HasPrefix(f, want) }) {
			t.Errorf("%s: got %q, want %q", metrics, got, want)
		}
	}
}
