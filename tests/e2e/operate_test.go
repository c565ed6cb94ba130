package e2e

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var charts = flag.String("charts", "", "folder of what the chart makes, a file for each file of values")

// doctor checks the chain, and finds a change that breaks it.
func (c *controlPlane) doctor(t *testing.T, chain string) {
	file := filepath.Join(chain, "authorization.yaml")
	examine := func() (findings map[string]string, text string, status int) {
		out, stderr, status := c.run(t, "", "kubernetes", "doctor", "--authorization-config", file, "--kubeconfig", filepath.Join(c.dir, "kubeconfig"),
			"--context", "admin", "--identity", "writ", "-o", "json")
		var report struct {
			Findings []struct{ Check, Severity, Message string }
		}
		if err := json.Unmarshal([]byte(out), &report); err != nil {
			t.Fatalf("%v: %s%s", err, out, stderr)
		}
		findings = make(map[string]string)
		for _, f := range report.Findings {
			findings[f.Check] += f.Severity + " "
		}
		return findings, out, status
	}
	findings, text, status := examine()
	for _, check := range []string{"configuration", "API server", "loaded", "identity", "order", "failure", "timeout", "cache", "versions", "conditions", "writ"} {
		if strings.TrimSpace(findings[check]) != "ok" {
			t.Errorf("%s: got %q", check, findings[check])
		}
	}
	if findings["connection"] != "warning " || status != 0 { // credentials are missing
		t.Errorf("got %d, %s", status, text)
	}
	content, err := os.ReadFile(file)
	check(t, err)
	defer func() { check(t, os.WriteFile(file, content, 0o600)) }()
	check(t, os.WriteFile(file, []byte(strings.Replace(string(content), "timeout: 3s", "timeout: 31s", 1)), 0o600))
	eventually(t, "a change that the API server refuses is found", func() (bool, string) {
		findings, text, status = examine()
		return status == 1 && findings["timeout"] == "error " && strings.Contains(text, "could not load"), text
	})
}

// listRules asks a writ that knows its callers what ann may do.
func (c *controlPlane) listRules(t *testing.T, dir string) {
	tokens := c.write(t, "callers.csv", []byte("token-of-ann,ann,1\ntoken-of-erin,erin,2\n"))
	certs := filepath.Join(c.dir, "certs") // those of the API server are for this machine, too
	s := c.serve(t, "--policies", dir, "--tokens", tokens, "--tls-cert", filepath.Join(certs, "apiserver.crt"), "--tls-key", filepath.Join(certs, "apiserver.key"))
	server := strings.Replace(s.url, "http:", "https:", 1)
	list := func(user string) (stdout, stderr string) {
		stdout, stderr, _ = c.kubectl(t, "--kubeconfig", "/dev/null", "--server", server, "--insecure-skip-tls-verify", "--token", "token-of-"+user,
			"--namespace", "default", "auth", "can-i", "--list")
		return stdout, stderr
	}
	eventually(t, "the rules are listed", func() (bool, string) {
		out, stderr := list("ann")
		return regexp.MustCompile(`(?m)^configmaps +\[\] +\[\] +\[get list\]$`).MatchString(out) && strings.Count(out, "\n") == 2, out + stderr
	})
	out, _ := list("erin")
	c.listed(t, dir, out)
}

// monitoring are the kinds of the Prometheus operator that the chart makes.
var monitoring = []definition{{"monitoring.coreos.com", "v1", "ServiceMonitor", true}, {"monitoring.coreos.com", "v1", "PrometheusRule", true}}

// install applies what deploy has to the API server, which only checks it.
func (c *controlPlane) install(t *testing.T) {
	for _, d := range monitoring {
		c.define(t, d)
	}
	files, err := filepath.Glob(filepath.Join(*charts, "*.yaml"))
	check(t, err)
	if len(files) < 3 {
		t.Fatalf("found %d files in %q, which cannot be all; use make e2e-kubernetes", len(files), *charts)
	}
	slices.Sort(files)
	for _, file := range files {
		c.accepts(t, "-f", file, 3)
	}
	c.accepts(t, "-k", "../../deploy/kustomize/base", 5)
	c.accepts(t, "-f", "../../deploy/replay/job.yaml", 1)
}

// accepts applies a path as a dry run, of which the API server must accept some objects.
func (c *controlPlane) accepts(t *testing.T, flag, path string, least int) {
	t.Helper()
	out, stderr, status := c.kubectl(t, "--context", "admin", "apply", "--dry-run=server", flag, path)
	if status != 0 || strings.Count(out, "(server dry run)") < least {
		t.Errorf("%s: got %d, %s%s", path, status, out, stderr)
	}
}

// gated are the kinds of Argo CD and Flux that the gate has.
var gated = []definition{
	{"argoproj.io", "v1alpha1", "Application", true}, {"source.toolkit.fluxcd.io", "v1", "GitRepository", true}, {"kustomize.toolkit.fluxcd.io", "v1", "Kustomization", true},
}

// installGate applies each file of deploy/gate. The definitions of Argo CD and Flux are
// permissive ones of this test.
func (c *controlPlane) installGate(t *testing.T) {
	for _, d := range gated {
		c.define(t, d)
	}
	for _, name := range []string{"argocd", "flux-system", "writ-gate"} {
		_, err := c.clients.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		check(t, err)
	}
	const gate = "../../deploy/gate/"
	c.accepts(t, "-f", gate+"identity.yaml", 4)
	c.accepts(t, "-f", gate+"argocd/application.yaml", 1)
	c.accepts(t, "-k", gate+"argocd/git", 2)
	c.accepts(t, "-k", gate+"argocd/folder", 3)
	c.accepts(t, "-f", gate+"flux/flux.yaml", 3)
	c.accepts(t, "-k", gate+"flux/gate", 2)
}
