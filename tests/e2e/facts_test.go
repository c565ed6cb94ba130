package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// labelled are policies of writ about the labels of objects: hal deletes what is not
// protected, and reads what is open.
const labelled = `kind: Role
apiVersion: writ.dev/v1
metadata: {name: labelled, namespace: master}
rules:
- {verbs: [delete, patch], resourceKinds: [secrets]}
- {verbs: [get], resourceKinds: [secrets], attributeRestrictions: {labelsContain: [open]}}
- {deny: true, verbs: [delete], resourceKinds: [secrets], attributeRestrictions: {labelsContain: [protected]}}
---
kind: RoleBinding
apiVersion: writ.dev/v1
metadata: {name: labelled, namespace: master}
roleRef: {name: labelled}
userNames: [hal]
`

// facts lets a user delete and read objects whose labels decide: without facts writ does not
// know the labels, with them it reads them from the API server.
func (c *controlPlane) facts(t *testing.T, restart func(flags ...string)) {
	admin, hal := c.clients.CoreV1().Secrets("default"), c.as(t, "hal").CoreV1().Secrets("default")
	for name, labels := range map[string]map[string]string{"plain": nil, "guarded": {"protected": "yes"}, "shown": {"open": "yes"}} {
		_, err := admin.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}, metav1.CreateOptions{})
		check(t, err)
	}
	remove := func(name string) error { return hal.Delete(t.Context(), name, metav1.DeleteOptions{}) }
	get := func(name string) error {
		_, err := hal.Get(t.Context(), name, metav1.GetOptions{})
		return err
	}
	label := func(name, patch string) {
		_, err := admin.Patch(t.Context(), name, types.MergePatchType, []byte(`{"metadata":{"labels":`+patch+`}}`), metav1.PatchOptions{})
		check(t, err)
	}
	refuse := func(when string) {
		wantCode(t, when+": delete plain", remove("plain"), http.StatusForbidden)
		wantCode(t, when+": get shown", get("shown"), http.StatusForbidden)
	}
	refuse("without facts")

	config := c.write(t, "writ.kubeconfig", c.Kubeconfig(c.gate.address(), "writ"))
	clusters := c.write(t, "clusters.yaml", []byte("clusters: [{name: main, kubeconfig: "+config+", context: writ, default: true, facts: [labels, node]}]"))
	restart("--clusters", clusters)
	const kept = 1100 * time.Millisecond // longer than the API server keeps an answer
	time.Sleep(kept)
	refuse("facts that writ may not read")

	c.permit(t, "facts", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}})
	time.Sleep(kept)
	wantCode(t, "delete what is protected", remove("guarded"), http.StatusForbidden)
	wantCode(t, "get what is open", get("shown"), http.StatusOK)
	wantCode(t, "get what is not open", get("plain"), http.StatusForbidden)
	wantCode(t, "get what is not there", get("absent"), http.StatusForbidden)
	began := time.Now()
	wantCode(t, "delete what is not protected", remove("plain"), http.StatusOK)
	t.Logf("a deletion whose labels are read takes %s", time.Since(began))

	label("shown", `{"open":null}`)
	time.Sleep(kept)
	wantCode(t, "get what is no longer open", get("shown"), http.StatusForbidden)
	label("guarded", `{"protected":null}`)
	time.Sleep(kept)
	wantCode(t, "delete what is no longer protected", remove("guarded"), http.StatusOK)
	label("shown", `{"protected":"yes"}`)
	wantCode(t, "delete what is protected now", remove("shown"), http.StatusForbidden)
	c.costOfFacts(t, clusters)
	restart()
}

// costOfFacts prints what reading the labels of an object costs a review.
func (c *controlPlane) costOfFacts(t *testing.T, clusters string) {
	const secrets, reviews = 200, 2000
	for i := range secrets {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("cost-", i), Labels: map[string]string{"open": "yes"}}}
		_, err := c.clients.CoreV1().Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{})
		check(t, err)
	}
	dir := filepath.Join(c.dir, "labelled")
	check(t, os.Mkdir(dir, 0o700))
	check(t, os.WriteFile(filepath.Join(dir, "labelled.yaml"), []byte(labelled), 0o600))
	for _, row := range []struct {
		name  string
		flags []string
		reads bool
	}{{"without look-ups", nil, false}, {"with look-ups", []string{"--clusters", clusters}, true}} {
		s := c.serve(t, append([]string{"--policies", dir}, row.flags...)...)
		s.ready(t)
		var took []time.Duration
		var before time.Duration
		for i := range reviews + secrets {
			if i == secrets { // the first ones open connections
				before = s.cpu(t)
			}
			q := question("hal", "get", "", "secrets", "default")
			q.ResourceAttributes.Version, q.ResourceAttributes.Name = "v1", fmt.Sprint("cost-", i%secrets)
			began := time.Now()
			if got := s.review(t, q); got.Allowed != row.reads {
				t.Fatalf("%s: %+v", row.name, got)
			}
			if i >= secrets {
				took = append(took, time.Since(began))
			}
		}
		cpu := (s.cpu(t) - before) / reviews
		slices.Sort(took)
		t.Logf("a review %s: p50 %s, p99 %s, %s of CPU", row.name, took[reviews/2], took[reviews*99/100], cpu)
	}
}
