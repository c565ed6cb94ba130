package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// policies of writ: ann reads config maps, and no user deletes them in the namespace default.
const policies = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: config-reader}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get, list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: readers, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: config-reader}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %s}]
---
apiVersion: breakglass.t-caas.telekom.com/v1alpha1
kind: DenyPolicy
metadata: {name: keep-config}
spec:
  rules: [{verbs: [delete], apiGroups: [""], resources: [configmaps], namespaces: {patterns: [default]}}]
`

// TestWebhook lets the API server authorize through writ with the files that writ writes.
func TestWebhook(t *testing.T) {
	c := startControlPlane(t)
	c.kubeconfig(t)
	address := freeAddress(t)
	chain := filepath.Join(c.dir, "chain")
	if _, stderr, status := c.run(t, "", "kubernetes", "config", "--url", "http://"+address, "--identity", "writ", "--path", chain, "--ttl", "1s", "-o", chain); status != 0 {
		t.Fatal(stderr)
	}
	c.grantEdit(t, "dave")
	dir := t.TempDir()
	file := filepath.Join(dir, "policies.yaml")
	check(t, os.WriteFile(file, fmt.Appendf(nil, policies, "ann"), 0o600))
	check(t, os.WriteFile(filepath.Join(dir, "shells.yaml"), []byte(shells), 0o600))
	check(t, os.WriteFile(filepath.Join(dir, "scoped.yaml"), []byte(scoped), 0o600))
	check(t, os.WriteFile(filepath.Join(dir, "labelled.yaml"), []byte(labelled), 0o600))

	stop := c.serveAt(t, address, dir)
	c.restart(t, []string{"--authorization-config", filepath.Join(chain, "authorization.yaml")})
	if _, stderr, status := c.kubectl(t, "--context", "admin", "apply", "-f", filepath.Join(chain, "identity.yaml")); status != 0 {
		t.Errorf("apply identity.yaml: %s", stderr)
	}

	t.Run("doctor", func(t *testing.T) { c.doctor(t, chain) })
	t.Run("a list of rules", func(t *testing.T) { c.listRules(t, dir) })
	t.Run("answers are those of eval", func(t *testing.T) { c.answers(t, dir) })
	t.Run("lists by selectors", func(t *testing.T) { c.selectors(t) })
	t.Run("random lists", func(t *testing.T) { c.randomLists(t, dir) })
	t.Run("the gate at the sync", func(t *testing.T) { c.installGate(t) })
	t.Run("what deploy installs", func(t *testing.T) { c.install(t) })
	ann, dave, bob := c.as(t, "ann"), c.as(t, "dave"), c.as(t, "bob")
	wantCode(t, "allowed by writ", list(ann), http.StatusOK)
	wantCode(t, "not allowed by any authorizer", list(bob), http.StatusForbidden)
	wantCode(t, "no opinion, allowed by RBAC", list(dave), http.StatusOK)
	err := dave.CoreV1().ConfigMaps("default").Delete(t.Context(), "kube-root-ca.crt", metav1.DeleteOptions{})
	wantCode(t, "denied by writ before RBAC allows", err, http.StatusForbidden)
	if err == nil || !strings.Contains(err.Error(), "keep-config") {
		t.Errorf("got %v, want the policy as the reason", err)
	}

	check(t, os.WriteFile(file, fmt.Appendf(nil, policies, "bob"), 0o600))
	took := eventually(t, "the changed policy is in force", func() (bool, string) {
		return code(list(bob)) == http.StatusOK && code(list(ann)) == http.StatusForbidden, fmt.Sprint(list(bob), list(ann))
	})
	t.Logf("a changed policy is in force after %s, with a TTL of 1s", took)

	stop()
	eventually(t, "without writ requests are refused", func() (bool, string) {
		return code(list(bob)) == http.StatusInternalServerError && code(list(dave)) == http.StatusInternalServerError, fmt.Sprint(list(bob), list(dave))
	})
	wantCode(t, "the control plane works without writ", list(c.as(t, "system:kube-scheduler")), http.StatusForbidden)
	if _, err := c.clients.Discovery().ServerVersion(); err != nil {
		t.Errorf("an administrator: %v", err)
	}
	stop = c.serveAt(t, address, dir)
	eventually(t, "with writ requests are answered", func() (bool, string) {
		return code(list(bob)) == http.StatusOK, fmt.Sprint(list(bob))
	})
	t.Run("facts of objects", func(t *testing.T) {
		c.facts(t, func(flags ...string) {
			stop()
			stop = c.serveAt(t, address, dir, flags...)
		})
	})
}

// grantEdit lets a user edit the namespace default by RBAC of the API server.
func (c *controlPlane) grantEdit(t *testing.T, user string) {
	t.Helper()
	ctx, create := t.Context(), metav1.CreateOptions{}
	_, err := c.clients.RbacV1().Roles("default").Create(ctx, &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "edit"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"*"}}},
	}, create)
	check(t, err)
	_, err = c.clients.RbacV1().RoleBindings("default").Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "edit"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "edit"},
		Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: user}},
	}, create)
	check(t, err)
	_, err = c.clients.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}, create)
	check(t, err)
}

// serveAt runs writ at an address until stop is called or the test ends.
func (c *controlPlane) serveAt(t *testing.T, address, dir string, flags ...string) (stop func()) {
	t.Helper()
	process := c.writ(t, append([]string{"serve", "--listen", address, "--policies", dir, "--drain", "0s"}, flags...)...)
	eventually(t, "writ is ready", func() (bool, string) {
		response, err := httpClient.Get("http://" + address + "/readyz")
		if err != nil {
			return false, err.Error()
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK, response.Status
	})
	return process.Kill
}

// as returns a client that acts as a user by a token of its own.
func (c *controlPlane) as(t *testing.T, user string) *kubernetes.Clientset {
	t.Helper()
	config := rest.CopyConfig(c.Config)
	config.BearerToken = "token-of-" + user
	clients, err := kubernetes.NewForConfig(config)
	check(t, err)
	return clients
}

func list(clients *kubernetes.Clientset) error {
	_, err := clients.CoreV1().ConfigMaps("default").List(context.Background(), metav1.ListOptions{})
	return err
}

// code is the HTTP status of the response that caused err.
func code(err error) int {
	if err == nil {
		return http.StatusOK
	}
	var status *apierrors.StatusError
	if errors.As(err, &status) {
		return int(status.ErrStatus.Code)
	}
	return 0
}

func wantCode(t *testing.T, what string, err error, want int) {
	t.Helper()
	if got := code(err); got != want {
		t.Errorf("%s: got %d (%v), want %d", what, got, err, want)
	}
}
