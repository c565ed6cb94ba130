package e2e

import (
	"encoding/json"
	"encoding/pem"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The steps share one control plane, which has nothing but what an API server makes itself.
func TestEmptyCluster(t *testing.T) {
	c := startControlPlane(t)
	c.write(t, "kubeconfig", c.Kubeconfig(c.Address, "admin")) // without the gate, which would close connections
	t.Run("nothing is found", func(t *testing.T) { nothingFound(t, c) })
	t.Run("diff of a repository and a cluster", func(t *testing.T) { diffSources(t, c) })
	s := c.serve(t, "--policies", "kube:", "--rescan", "1h")
	s.ready(t)
	_, err := c.clients.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team-1"}}, metav1.CreateOptions{})
	check(t, err)
	t.Run("an API server that stops", func(t *testing.T) { lost(t, c, s, "stopped", syscall.SIGSTOP) })
	t.Run("an API server that is killed", func(t *testing.T) { lost(t, c, s, "killed", syscall.SIGKILL) })
}

func nothingFound(t *testing.T, c *controlPlane) {
	for _, more := range [][]string{nil, {"--bootstrap-roles", "kubernetes"}} {
		for _, name := range []string{"check", "lint"} {
			args := append([]string{name, "kube:", "-o", "json"}, more...)
			stdout, stderr, status := c.run(t, "", args...)
			var report struct {
				Errors, Warnings int
				Diagnostics      []any
			}
			if err := json.Unmarshal([]byte(stdout), &report); err != nil || status != 0 || report.Errors+report.Warnings+len(report.Diagnostics) != 0 {
				t.Errorf("%v: got %d, %v, %s%s", args, status, err, stdout, stderr)
			}
		}
	}
	if stdout, stderr, _ := c.run(t, "", "what-can", "--policies", "kube:", "--group", "system:masters", "-A"); !strings.Contains(stdout, "cluster-admin") {
		t.Errorf("the cluster is empty: %s%s", stdout, stderr)
	}
}

// viewers are objects of a namespace that are in a repository and in the cluster.
const viewers = `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: viewer, namespace: default}, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: viewers, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: viewer}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: gail}]
`

func diffSources(t *testing.T, c *controlPlane) {
	dir := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		command := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	check(t, os.MkdirAll(filepath.Join(dir, "rbac"), 0o700))
	file := filepath.Join(dir, "rbac", "viewers.yaml")
	check(t, os.WriteFile(file, []byte(viewers), 0o600))
	git("init", "--quiet", "--initial-branch=main")
	git("add", ".")
	git("commit", "--quiet", "-m", "viewers")
	web := httptest.NewTLSServer(&cgi.Handler{Path: filepath.Join(git("--exec-path"), "git-http-backend"), Env: []string{
		"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
	}})
	t.Cleanup(web.Close)
	t.Setenv("SSL_CERT_FILE", c.write(t, "web.crt", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw})))

	diff := func(want int, changes ...string) {
		t.Helper()
		stdout, stderr, status := c.run(t, "", "diff", "git+"+web.URL+"/.git//rbac?ref=main", "kube:?namespace=default&kinds=Role,RoleBinding", "--allow-empty", "-o", "json")
		var report struct{ Classes []struct{ Changes []string } }
		err := json.Unmarshal([]byte(stdout), &report)
		var got []string
		for _, class := range report.Classes {
			got = append(got, class.Changes...)
		}
		if err != nil || status != want || strings.Join(got, " ") != strings.Join(changes, " ") {
			t.Errorf("got %d, %q, %v, want %d, %q: %s%s", status, got, err, want, changes, stdout, stderr)
		}
	}
	diff(1, "loss")
	if _, stderr, status := c.kubectl(t, "apply", "-f", file); status != 0 {
		t.Fatal(stderr)
	}
	diff(0)
	check(t, os.WriteFile(file, []byte(strings.Replace(viewers, "[get]", "[get, delete]", 1)), 0o600))
	if _, stderr, status := c.kubectl(t, "apply", "-f", file); status != 0 {
		t.Fatal(stderr)
	}
	diff(1, "gain")
}

// lost stops or kills the API server, and lets it return.
func lost(t *testing.T, c *controlPlane, s *server, name string, with syscall.Signal) {
	const bound = 5 * time.Second
	c.bind(t, "before-"+name, "before-"+name)
	s.follows(t, "before-"+name, true)
	_, before := s.status(t)
	log := len(s.logged())
	check(t, c.API().Signal(with))
	line := ""
	took := eventually(t, "the source is degraded, and the log has a line", func() (bool, string) {
		for each := range strings.Lines(s.logged()[log:]) {
			if strings.Contains(each, "documents could not be read") {
				line = each
			}
		}
		text, st := s.status(t)
		return line != "" && st.Ready && st.Degraded && st.Sources[0].Error != "", text
	})
	t.Logf("noticed after %s: %s", took, line)
	if took > bound || !strings.Contains(line, "level=ERROR") {
		t.Errorf("noticed after %s, want at most %s and a line in the log: %q", took, bound, line)
	}
	if _, st := s.status(t); st.Revision != before.Revision || !s.may(t, "before-"+name, "delete", "", "secrets", "team-1") {
		t.Error("the last good revision does not answer")
	}
	if with == syscall.SIGSTOP {
		check(t, c.API().Signal(syscall.SIGCONT))
	} else {
		<-c.API().Done
		c.startAPI(t)
	}
	took = s.ready(t)
	t.Logf("not degraded %s after the API server has returned", took)
	c.bind(t, "after-"+name, "after-"+name)
	t.Logf("followed after %s", s.follows(t, "after-"+name, true))
}

// logged returns what writ has logged.
func (s *server) logged() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}
