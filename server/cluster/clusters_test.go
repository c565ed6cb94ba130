package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-policy/writ/server/decision"
)

const kubeconfig = `apiVersion: v1
kind: Config
current-context: admin
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: admin, context: {cluster: c, user: u}}]
`

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestRead(t *testing.T) {
	for _, tt := range []struct {
		name, file string
		err        string // a part; empty: none
	}{
		{"everything", "clusters:\n  - {name: a, kubeconfig: k.yaml, context: admin, tenant: bank, labels: {env: prod}, default: true}\n", ""},
		{"a name alone", "clusters: [{name: a}]\n", ""},
		{"JSON", `{"clusters": [{"name": "a", "default": false}]}`, ""},
		{"empty", "", "clusters.yaml: the file is empty"},
		{"no cluster", "clusters: []\n", "clusters.yaml:1: the file lists no cluster"},
		{"cut off", "clusters:\n", "clusters.yaml:1: clusters must be a list"},
		{"malformed YAML", "clusters: [\n", "clusters.yaml: yaml:"},
		{"a list", "- name: a\n", "clusters.yaml:1: the file must be a mapping"},
		{"an unknown key", "clusters: [{name: a}]\ncluster: []\n", `clusters.yaml:2: unknown key "cluster" of the file`},
		{"an unknown key of a cluster", "clusters:\n  - name: a\n    contex: x\n", `clusters.yaml:3: unknown key "contex" of a cluster`},
		{"a key twice", "clusters:\n  - name: a\n    name: b\n", `clusters.yaml:3: duplicate key "name"`},
		{"no name", "clusters:\n  - {name: a}\n  - {tenant: b}\n", "clusters.yaml:3: a cluster has no name"},
		{"a name twice", "clusters:\n  - {name: a}\n  - {name: a}\n", `clusters.yaml:3: cluster "a" is already on line 2`},
		{"a name with a slash", "clusters: [{name: a/b}]\n", "is a path segment"},
		{"two defaults", "clusters:\n  - {name: a, default: true}\n  - {name: b, default: true}\n", `clusters.yaml:3: cluster "b" is the default, and so is "a"`},
		{"two ways", "clusters: [{name: a, kubeconfig: k.yaml, inCluster: true}]\n", "both kubeconfig and inCluster"},
		{"a context of nothing", "clusters: [{name: a, context: x}]\n", "a context and no kubeconfig"},
		{"an unknown context", "clusters: [{name: a, kubeconfig: k.yaml, context: x}]\n", "context was not found for specified context: x"},
		{"no kubeconfig there", "clusters:\n\n  - {name: a, kubeconfig: nowhere.yaml}\n", `clusters.yaml:3: cluster "a": open`},
		{"an invalid kubeconfig", "clusters: [{name: a, kubeconfig: clusters.yaml}]\n", `cluster "a"`},
		{"a number for a name", "clusters: [{name: 1}]\n", "name must be a string"},
		{"a string for a boolean", "clusters: [{name: a, default: 'true'}]\n", "default must be true or false"},
		{"a label that is not a string", "clusters: [{name: a, labels: {x: 1}}]\n", "the label x must be a string"},
		{"labels that are a list", "clusters: [{name: a, labels: [x]}]\n", "labels must be a mapping"},
		{"facts", "clusters: [{name: a, kubeconfig: k.yaml, facts: [labels, node]}]\n", ""},
		{"an unknown fact", "clusters:\n  - name: a\n    kubeconfig: k.yaml\n    facts: [labels,\n      nodes]\n", `clusters.yaml:5: unknown fact "nodes"; there are labels and node`},
		{"facts that are a word", "clusters: [{name: a, kubeconfig: k.yaml, facts: labels}]\n", "facts must be a list"},
		{"facts that nothing can read", "clusters:\n  - {name: a, facts: [labels]}\n", `clusters.yaml:2: cluster "a" has facts`},
		{"a companion", "clusters: [{name: a, kubeconfig: k.yaml, companion: true, companionAddresses: ['https://10.0.0.1:6443', 'https://10.0.0.2:6443']}]\n", ""},
		{"a companion that nothing can probe", "clusters:\n  - {name: a, companion: true}\n", `clusters.yaml:2: cluster "a" has a companion`},
		{"addresses of no companion", "clusters: [{name: a, kubeconfig: k.yaml, companionAddresses: ['https://a']}]\n", "has companionAddresses and no companion"},
		{"an address without a host", "clusters: [{name: a, kubeconfig: k.yaml, companion: true, companionAddresses: [localhost]}]\n", `the address "localhost" must have the form https://HOST:PORT`},
		{"an address twice", "clusters: [{name: a, kubeconfig: k.yaml, companion: true, companionAddresses: ['https://a', 'https://a']}]\n", "is there twice"},
		{"an alias", "clusters: [&a {name: a}, *a]\n", "a cluster must be a mapping"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "k.yaml"), kubeconfig)
			path := filepath.Join(dir, "clusters.yaml")
			write(t, path, tt.file)
			_, err := Read(path, Options{})
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("got %v, want %q", err, tt.err)
			}
		})
	}
}

func TestPlace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "clusters.yaml")
	const two = "clusters:\n  - {name: a, tenant: bank, labels: {env: prod}}\n  - {name: b}\n"
	write(t, path, two+"  - {name: c, tenant: shop, default: true}\n")
	c, err := Read(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	place := func(asked, cluster, tenant string, want error) {
		t.Helper()
		r := &decision.Request{Cluster: asked}
		if err := c.Place(r); err != want || err == nil && (r.Cluster != cluster || r.Tenant != tenant) {
			t.Errorf("%q: got %q of %q, %v; want %q of %q, %v", asked, r.Cluster, r.Tenant, err, cluster, tenant, want)
		}
	}
	place("a", "a", "bank", nil)
	place("b", "b", "", nil)
	place("", "c", "shop", nil)
	place("A", "", "", errUnlisted)
	write(t, path, two)
	if changed, err := c.Reload(); !changed || err != nil {
		t.Fatalf("got %v, %v", changed, err)
	}
	place("", "", "", errNoCluster)
	place("c", "", "", errUnlisted)
	if got := c.Labels("a")["env"]; got != "prod" {
		t.Errorf("got label %q, want prod", got)
	}
}

// A file that is not in order leaves the clusters as they were, and a cluster of
// which nothing changed its connections.
func TestReload(t *testing.T) {
	dir := t.TempDir()
	path, key := filepath.Join(dir, "clusters.yaml"), filepath.Join(dir, "k.yaml")
	write(t, key, kubeconfig)
	write(t, path, "clusters:\n  - {name: a, kubeconfig: k.yaml}\n")
	c, err := Read(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	first := c.active.Load().clusters["a"]
	for _, step := range []struct {
		name       string
		do         func()
		changed    bool
		err        string
		same, gone bool
	}{
		{"nothing", func() {}, false, "", true, false},
		{"a broken file", func() { write(t, path, "clusters: [{nam: a}]") }, false, `unknown key "nam"`, true, false},
		{"no file", func() { os.Remove(path) }, false, "no such file", true, false},
		{"one more", func() { write(t, path, "clusters:\n  - {name: b}\n  - {name: a, kubeconfig: k.yaml}\n") }, true, "", true, false},
		{"a broken kubeconfig", func() { write(t, key, "x") }, false, `cluster "a"`, true, false},
		{"another kubeconfig", func() { write(t, key, kubeconfig+"preferences: {}\n") }, true, "", false, false},
		{"it is gone", func() { write(t, path, "clusters: [{name: b}]") }, true, "", false, true},
	} {
		t.Run(step.name, func(t *testing.T) {
			step.do()
			changed, err := c.Reload()
			if changed != step.changed || (err == nil) != (step.err == "") || err != nil && !strings.Contains(err.Error(), step.err) {
				t.Errorf("got %v, %v; want %v, %q", changed, err, step.changed, step.err)
			}
			got := c.active.Load().clusters["a"]
			if (got == first) != step.same || (got == nil) != step.gone {
				t.Errorf("got cluster %p, first %p; want the same: %v, gone: %v", got, first, step.same, step.gone)
			}
		})
	}
}
