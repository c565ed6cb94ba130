package kubernetes

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"
)

// What is committed is what the library of this version gives: go run ./export
// writes it anew.
func TestBootstrapIsCommitted(t *testing.T) {
	files, err := Bootstrap()
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join("testdata", "default")
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what Kubernetes gives; run: go run ./export", name)
		}
		if !bytes.Contains(want, []byte("\nkind: ")) {
			t.Errorf("%s holds no documents", name)
		}
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != len(files) {
		t.Errorf("got %d files (%v), want %d", len(entries), err, len(files))
	}
}

// What writ embeds is what the library of this version gives, and its name states the
// version.
func TestEmbeddedBootstrap(t *testing.T) {
	want, err := Compact()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join("..", "..", Embedded))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("the embedded roles are not what Kubernetes gives; run: make gen")
	}
	module, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join("..", "..", "translator", "roles", "bootstrap.go"))
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`k8s\.io/kubernetes v(\d+\.\d+)`).FindSubmatch(module)
	if version == nil || !bytes.Contains(source, []byte(`"bootstrap:kubernetes/`+string(version[1])+`"`)) {
		t.Errorf("package roles must name version %q", version)
	}
}

// bootstrapWorld is what every cluster begins with, as documents.
func bootstrapWorld() *world {
	w := &world{}
	for namespace, roles := range bootstrappolicy.NamespaceRoles() {
		for _, role := range roles {
			role.Namespace = namespace
			w.roles = append(w.roles, &role)
		}
	}
	for namespace, bindings := range bootstrappolicy.NamespaceRoleBindings() {
		for _, b := range bindings {
			b.Namespace = namespace
			w.roleBindings = append(w.roleBindings, &b)
		}
	}
	for _, role := range slices.Concat(bootstrappolicy.ClusterRoles(), bootstrappolicy.ControllerRoles()) {
		w.clusterRoles = append(w.clusterRoles, &role)
	}
	for _, b := range slices.Concat(bootstrappolicy.ClusterRoleBindings(), bootstrappolicy.ControllerRoleBindings()) {
		w.clusterRoleBindings = append(w.clusterRoleBindings, &b)
	}
	return w
}

// TestBootstrapAuthorizer asks about the documents that every cluster has.
func TestBootstrapAuthorizer(t *testing.T) {
	const asked = 5_000
	w := bootstrapWorld()
	allowed, why := compare(t, w, newGenerator(*seed, 1<<40).requests(w, asked))
	if why != "" {
		t.Errorf("seed %d: %.5000s", *seed, why)
	}
	if allowed < asked/10 {
		t.Errorf("%d of %d requests are allowed: the generator proves little", allowed, asked)
	}
}
