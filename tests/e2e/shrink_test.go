package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// wide grants more than what TestShrink asks for: to scripts of ann, bob and erin, and to a
// controller of gil.
const wide = `kind: ClusterRole
apiVersion: rbac.authorization.k8s.io/v1
metadata: {name: wide}
rules:
- {verbs: ["*"], apiGroups: [""], resources: [configmaps, secrets, pods]} # for now
- {verbs: [get, list, delete], apiGroups: [apps], resources: ["*"]}
- {verbs: [get], nonResourceURLs: ["/metrics", "/version*"]}
---
kind: ClusterRole
apiVersion: rbac.authorization.k8s.io/v1
metadata: {name: controller}
rules:
- {verbs: ["*"], apiGroups: [coordination.k8s.io, ""], resources: ["*"]}
---
kind: RoleBinding
apiVersion: rbac.authorization.k8s.io/v1
metadata: {name: scripts, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: wide}
subjects:
- {kind: User, apiGroup: rbac.authorization.k8s.io, name: ann}
- {kind: User, apiGroup: rbac.authorization.k8s.io, name: bob}
- {kind: User, apiGroup: rbac.authorization.k8s.io, name: dave} # has left
---
kind: ClusterRoleBinding
apiVersion: rbac.authorization.k8s.io/v1
metadata: {name: everywhere}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: wide}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: erin}]
---
kind: RoleBinding
apiVersion: rbac.authorization.k8s.io/v1
metadata: {name: controller, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: controller}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: gil}]
`

// What shrink leaves of roles lets an API server allow everything that controllers and scripts
// did, by its own audit log, and no event that was held out is lost.
func TestShrink(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) {
		t.Helper()
		check(t, os.WriteFile(at(name), []byte(text), 0o600))
	}
	check(t, os.Mkdir(at("policies"), 0o700))
	write("policies/wide.yaml", wide)
	write("policy.yaml", "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Metadata, users: [ann, bob, dave, erin, gil]}]\n")
	c := startControlPlane(t, "--audit-policy-file", at("policy.yaml"), "--audit-log-path", at("audit.log"))
	c.kubeconfig(t)
	if _, stderr, status := c.kubectl(t, "--context", "admin", "apply", "-f", at("policies")); status != 0 {
		t.Fatal(stderr)
	}
	eventually(t, "the roles are in force", func() (bool, string) { return list(c.as(t, "ann")) == nil, "" })
	for _, user := range []string{"ann", "bob", "erin"} {
		c.script(t, user)
	}
	// One event in five is held out: what a controller does once at its start is done several times.
	for range 6 {
		c.controller(t, "gil")
	}

	args := []string{"shrink", "--log", at("audit.log"), "--force", "--grace", "0", "--strict", "--fail-on", "holdout", "-o", "json", at("policies")}
	stdout, stderr, status := c.run(t, "", args...)
	var report struct {
		Summary struct{ Permissions struct{ Before, After int } }
		Log     struct{ Events int }
		Holdout struct{ Events, Lost int }
		Proof   map[string]struct{ Holds bool }
	}
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || status != 0 {
		t.Fatalf("got %d, %v, %s%s", status, err, stdout, stderr)
	}
	t.Logf("%d events, %d held out, %d lost; %d permissions of %d stay", report.Log.Events, report.Holdout.Events, report.Holdout.Lost,
		report.Summary.Permissions.After, report.Summary.Permissions.Before)
	for name, proof := range report.Proof {
		if !proof.Holds {
			t.Errorf("the proof %s fails", name)
		}
	}
	if report.Holdout.Events == 0 || report.Holdout.Lost > 0 || 2*report.Summary.Permissions.After > report.Summary.Permissions.Before {
		t.Errorf("%s", stdout)
	}
	smaller, err := os.ReadFile(at("policies/wide.yaml"))
	check(t, err)
	if strings.Contains(string(smaller), "dave") || !strings.Contains(string(smaller), "# for now") {
		t.Errorf("the smaller documents are\n%s", smaller)
	}
	write("wide.yaml", wide)
	for _, command := range [][]string{{"delete", "-f", at("wide.yaml")}, {"apply", "-f", at("policies")}} {
		if _, stderr, status := c.kubectl(t, append([]string{"--context", "admin"}, command...)...); status != 0 {
			t.Fatal(stderr)
		}
	}
	c.stillAllows(t, at("audit.log"))
}

// script does what a user's script does, many times: some of what the user may.
func (c *controlPlane) script(t *testing.T, user string) {
	t.Helper()
	d := rand.New(rand.NewPCG(uint64(len(user)), uint64(user[0])))
	client, ctx := c.as(t, user), t.Context()
	namespaces := []string{"default"}
	if user == "erin" {
		namespaces = append(namespaces, "kube-system", "kube-public")
	}
	habits := d.Perm(9)[:3]
	for n := range 400 {
		namespace, name := namespaces[d.IntN(len(namespaces))], fmt.Sprintf("%s-%d", user, d.IntN(5))
		maps, secrets, pods := client.CoreV1().ConfigMaps(namespace), client.CoreV1().Secrets(namespace), client.CoreV1().Pods(namespace)
		var err error
		switch habits[n%len(habits)] {
		case 0:
			_, err = maps.List(ctx, metav1.ListOptions{})
		case 1:
			_, err = maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		case 2:
			err = maps.Delete(ctx, name, metav1.DeleteOptions{})
		case 3:
			_, err = maps.Patch(ctx, name, types.MergePatchType, []byte(`{"data":{"a":"b"}}`), metav1.PatchOptions{})
		case 4:
			_, err = secrets.Get(ctx, name, metav1.GetOptions{})
		case 5:
			err = pods.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "app=" + name})
		case 6:
			_, err = pods.Get(ctx, name, metav1.GetOptions{})
		case 7:
			_, err = client.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{})
		case 8:
			_, err = client.AppsV1().DaemonSets(namespace).Get(ctx, name, metav1.GetOptions{})
		}
		_ = err // of objects that are not there too, an event is one of a permission
	}
}

// controller runs an informer and elects itself leader, as controllers do, and goes without a
// trace.
func (c *controlPlane) controller(t *testing.T, user string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	client := c.as(t, user)
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace("default"))
	factory.Core().V1().ConfigMaps().Informer()
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	lead(ctx, client)
	factory.Shutdown()
	check(t, client.CoordinationV1().Leases("default").Delete(t.Context(), "controller", metav1.DeleteOptions{}))
}

func lead(ctx context.Context, client *kubernetes.Clientset) {
	lock := &resourcelock.LeaseLock{
		LeaseMeta: metav1.ObjectMeta{Name: "controller", Namespace: "default"}, Client: client.CoordinationV1(), LockConfig: resourcelock.ResourceLockConfig{Identity: "one"},
	}
	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: 500 * time.Millisecond, ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) {}, OnStoppedLeading: func() {}},
	})
}

// stillAllows asks the API server for everything that its audit log says was allowed.
func (c *controlPlane) stillAllows(t *testing.T, log string) {
	t.Helper()
	text, err := os.ReadFile(log)
	check(t, err)
	asked := make(map[string]authorizationv1.SubjectAccessReviewSpec)
	for line := range strings.Lines(string(text)) {
		var e struct {
			Verb, RequestURI string
			User             struct {
				Username string
				Groups   []string
			}
			ObjectRef   *struct{ Resource, Namespace, Name, APIGroup, Subresource string }
			Annotations map[string]string
		}
		check(t, json.Unmarshal([]byte(line), &e))
		if e.Annotations["authorization.k8s.io/decision"] != "allow" || !strings.Contains(e.Annotations["authorization.k8s.io/reason"], "wide") && !strings.Contains(e.Annotations["authorization.k8s.io/reason"], "controller") {
			continue // by a role of every cluster
		}
		spec := authorizationv1.SubjectAccessReviewSpec{User: e.User.Username, Groups: e.User.Groups}
		if r := e.ObjectRef; r != nil {
			spec.ResourceAttributes = &authorizationv1.ResourceAttributes{Verb: e.Verb, Group: r.APIGroup, Resource: r.Resource, Subresource: r.Subresource, Namespace: r.Namespace, Name: r.Name}
		} else {
			spec.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Verb: e.Verb, Path: e.RequestURI}
		}
		asked[spec.String()] = spec
	}
	if len(asked) < 20 {
		t.Fatalf("%d requests are in the log: the test shows too little", len(asked))
	}
	for _, spec := range asked {
		eventually(t, "allowed by the smaller roles", func() (bool, string) {
			got, err := c.clients.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{Spec: spec}, metav1.CreateOptions{})
			check(t, err)
			return got.Status.Allowed, spec.String()
		})
	}
	t.Logf("%d different requests of the log are allowed still", len(asked))
}
