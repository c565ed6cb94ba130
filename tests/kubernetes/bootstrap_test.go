package kubernetes

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	source, err := os.ReadFile(filepath.Join("..", "..", "translator", "roles", "roles.go"))
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`k8s\.io/kubernetes v(\d+\.\d+)`).FindSubmatch(module)
	if version == nil || !bytes.Contains(source, []byte(`"kubernetes/`+string(version[1])+`"`)) {
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

// TestBootstrapFlag asks about a directory that binds bootstrap roles without having them,
// and that replaces and extends some, as Kubernetes would have it.
func TestBootstrapFlag(t *testing.T) {
	const asked = 5_000
	own := &world{
		clusterRoles: []*rbacv1.ClusterRole{
			{ObjectMeta: metav1.ObjectMeta{Name: "widgets", Labels: map[string]string{"rbac.authorization.k8s.io/aggregate-to-view": "true"}},
				Rules: []rbacv1.PolicyRule{{Verbs: []string{"get"}, APIGroups: []string{"example.com"}, Resources: []string{"widgets"}}}},
			{ObjectMeta: metav1.ObjectMeta{Name: "system:node-proxier"},
				Rules: []rbacv1.PolicyRule{{Verbs: []string{"list"}, APIGroups: []string{""}, Resources: []string{"pods"}}}},
		},
		roleBindings: []*rbacv1.RoleBinding{{
			ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "editors"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
			Subjects:   []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: "ada"}},
		}},
	}
	w := bootstrapWorld()
	w.clusterRoles = slices.DeleteFunc(w.clusterRoles, func(r *rbacv1.ClusterRole) bool { return r.Name == "system:node-proxier" })
	w.clusterRoles = append(w.clusterRoles, own.clusterRoles...)
	w.roleBindings = append(w.roleBindings, own.roleBindings...)
	requests := newGenerator(*seed, 1<<41).requests(w, asked)
	decisions, err := evaluate(own.write(t), requests, "--bootstrap-roles", "kubernetes")
	if err != nil {
		t.Fatal(err)
	}
	k := newKubernetes(w)
	allowed := 0
	for i, r := range requests {
		if k.allows(r) {
			allowed++
		}
		if why := k.difference(r, decisions[i]); why != "" {
			t.Fatalf("seed %d: %+v: %s", *seed, r, why)
		}
	}
	if allowed < asked/10 {
		t.Errorf("%d of %d requests are allowed: the generator proves little", allowed, asked)
	}
}
