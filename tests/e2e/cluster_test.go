package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var seed = func() uint64 { return uint64(time.Now().UnixNano()) }()

// The steps share one control plane, which takes long to fill, and run in this order.
func TestCluster(t *testing.T) {
	c := startControlPlane(t)
	c.kubeconfig(t)
	for _, d := range definitions {
		c.define(t, d)
	}
	c.fill(t)
	t.Run("permissions are named", func(t *testing.T) { missingPermissions(t, c) })
	t.Run("commands", func(t *testing.T) { commands(t, c) })
	s := c.serve(t, "--policies", "kube:writ")
	t.Logf("ready with %d bindings after %s", *bindings, s.ready(t))
	t.Run("decisions agree with the API server", func(t *testing.T) { agreement(t, c, s) })
	t.Run("a changed binding", func(t *testing.T) { changedBinding(t, c, s) })
	t.Run("a definition installed later", func(t *testing.T) { laterDefinition(t, c, s) })
	t.Run("a watch that breaks", func(t *testing.T) { brokenWatch(t, c, s) })
	t.Run("a version that is too old", func(t *testing.T) { tooOld(t, c, s) })
	t.Run("the API server is gone", func(t *testing.T) { gone(t, c, s) })
	t.Run("a permission that is taken away", func(t *testing.T) { takenPermission(t, c, s) })
	t.Run("a cluster and a directory", func(t *testing.T) { severalSources(t, c) })
}

// missingPermissions grants the permissions of the user of writ one after another.
func missingPermissions(t *testing.T, c *controlPlane) {
	_, stderr, status := c.run(t, "", "check", "kube:")
	if status != 2 || !strings.Contains(stderr, `grant the verbs list and watch on resource "clusterroles" of API group "rbac.authorization.k8s.io"`) {
		t.Fatalf("without any: got %d, %s", status, stderr)
	}
	c.permit(t, "reads-policy", readable(rbacv1.GroupName, "breakglass.t-caas.telekom.com", "clusterpulse.io", "gateway.networking.k8s.io", "writ.dev"))
	// The authorizer of the API server follows a moment later.
	eventually(t, "only the missing permission is named", func() (bool, string) {
		_, stderr, status = c.run(t, "", "check", "kube:")
		return status == 2 && strings.Contains(stderr, `resource "ratelimitpolicies" of API group "kuadrant.io"`) && !strings.Contains(stderr, "clusterroles"), stderr
	})
	c.permit(t, "reads-kuadrant", readable("kuadrant.io"))
	eventually(t, "all is readable", func() (bool, string) {
		_, stderr, status = c.run(t, "", "check", "kube:")
		return status == 0, stderr
	})
}

func commands(t *testing.T, c *controlPlane) {
	stdout, stderr, status := c.run(t, "", "check", "kube:", "-o", "json")
	var report struct{ Errors int }
	check(t, json.Unmarshal([]byte(stdout), &report))
	if status != 0 || report.Errors != 0 {
		t.Errorf("check: got %d, %s", status, stderr)
	}
	bundle := filepath.Join(t.TempDir(), "bundle.tar.gz")
	if _, stderr, status = c.run(t, "", "build", "kube:", "-o", bundle); status != 0 {
		t.Fatalf("build: got %d, %s", status, stderr)
	}
	request := `{"user":"root","groups":["system:masters"],"verb":"get","resource":"pods","namespace":"team-1"}`
	want := `"source":"kube:ClusterRole/cluster-admin:rules[0]"`
	for _, from := range [][]string{{"--policies", "kube:"}, {"--bundle", bundle}} {
		stdout, stderr, status = c.run(t, request, append([]string{"eval"}, from...)...)
		if status != 0 || !strings.Contains(stdout, want) {
			t.Errorf("eval %v: got %d, %s%s, want %s", from, status, stdout, stderr, want)
		}
	}
	if stdout, stderr, status = c.run(t, "", "diff", "kube:", "kube:"); status != 0 {
		t.Errorf("diff: got %d, %s%s", status, stdout, stderr)
	}
	if stdout, stderr, status = c.run(t, "", "who-can", "get", "nodes", "--policies", "kube:"); status > 1 || !strings.Contains(stdout, "system:masters") {
		t.Errorf("who-can: got %d, %s%s", status, stdout, stderr)
	}
	if stdout, stderr, status = c.kubectl(t, "writ", "check", "kube:", "-o", "json"); status != 0 || !strings.Contains(stdout, `"errors": 0`) {
		t.Errorf("kubectl writ check: got %d, %s", status, stderr)
	}
	if stdout, stderr, status = c.kubectl(t, "writ", "--help"); status != 0 || !strings.Contains(stdout, "kubectl writ check policies") {
		t.Errorf("kubectl writ --help: got %d, %s%s", status, stdout, stderr)
	}
	if _, stderr, status = c.run(t, "", "lint", "kube:"); status > 1 {
		t.Errorf("lint: got %d, %s", status, stderr)
	}
	if _, stderr, status = c.run(t, "", "test", "kube:"); status > 1 {
		t.Errorf("test: got %d, %s", status, stderr)
	}
	if stdout, stderr, status = c.run(t, "", "check", "kube:?namespace=team-1&kinds=RoleBinding,Role", "-o", "json"); status > 1 || !strings.Contains(stdout, "kube:RoleBinding/team-1/") && strings.Contains(stdout, "team-2/") {
		t.Errorf("narrowed: got %d, %s", status, stderr)
	}
}

// agreement compares reviews with those of the API server itself.
func agreement(t *testing.T, c *controlPlane, s *server) {
	const samples = 2000
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	allowed := 0
	for range samples {
		q := question(user(random.IntN(users)), verbs[random.IntN(len(verbs))], groups[random.IntN(len(groups))], resources[random.IntN(len(resources))], namespace(random.IntN(namespaces)))
		switch random.IntN(10) {
		case 0:
			q.ResourceAttributes.Namespace = ""
		case 1:
			q.Groups = []string{"system:authenticated", "system:masters"}[:1+random.IntN(2)]
			q.ResourceAttributes.Resource, q.ResourceAttributes.Group, q.ResourceAttributes.Verb = "selfsubjectreviews", "authentication.k8s.io", "create"
		case 2:
			q.User = []string{"system:kube-scheduler", "system:kube-controller-manager", "system:kube-proxy", "writ"}[random.IntN(4)]
			q.ResourceAttributes.Resource = []string{"events", "endpoints", "nodes", "pods", "clusterroles"}[random.IntN(5)]
		}
		want, err := c.clients.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{Spec: q}, metav1.CreateOptions{})
		check(t, err)
		got := s.review(t, q)
		if got.Allowed != want.Status.Allowed {
			t.Errorf("%+v %+v: got %t (%s), the API server %t (%s)", q, q.ResourceAttributes, got.Allowed, got.Reason, want.Status.Allowed, want.Status.Reason)
		}
		if got.Allowed {
			allowed++
		}
	}
	t.Logf("%d of %d are allowed", allowed, samples)
	if allowed < samples/100 || allowed > samples*99/100 {
		t.Errorf("%d of %d are allowed, which shows nothing", allowed, samples)
	}
}

// bind binds a user to a role in a namespace and returns when the API server has done so.
func (c *controlPlane) bind(t *testing.T, name, user string) {
	t.Helper()
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: user}},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "admin"},
	}
	_, err := c.clients.RbacV1().RoleBindings("team-1").Create(context.Background(), binding, metav1.CreateOptions{})
	check(t, err)
}

func (c *controlPlane) unbind(t *testing.T, name string) {
	t.Helper()
	check(t, c.clients.RbacV1().RoleBindings("team-1").Delete(context.Background(), name, metav1.DeleteOptions{}))
}

// follows waits until writ allows a user what the role admin allows.
func (s *server) follows(t *testing.T, user string, allowed bool) time.Duration {
	t.Helper()
	return eventually(t, fmt.Sprintf("%s is allowed: %t", user, allowed), func() (bool, string) {
		text, _ := s.status(t)
		return s.may(t, user, "delete", "", "secrets", "team-1") == allowed, text
	})
}

func changedBinding(t *testing.T, c *controlPlane, s *server) {
	var times []time.Duration
	for i := range 5 {
		name := fmt.Sprintf("changed-%d", i)
		c.bind(t, name, name)
		times = append(times, s.follows(t, name, true))
		c.unbind(t, name)
		times = append(times, s.follows(t, name, false))
	}
	slices.Sort(times)
	t.Logf("from the response of the API server to the new answer, settle time of 200ms included: median %s, longest %s", times[len(times)/2], times[len(times)-1])
	text, st := s.status(t)
	if st.Errors != 0 || st.Degraded {
		t.Errorf("got %s", text)
	}
}

// laterDefinition installs the definition of a kind while writ is running.
func laterDefinition(t *testing.T, c *controlPlane, s *server) {
	_, st := s.status(t)
	if !slices.Contains(st.Sources[0].Unserved, "AuthPolicy.kuadrant.io") {
		t.Fatalf("got %q, want AuthPolicy among the kinds that are not served", st.Sources[0].Unserved)
	}
	c.create(t, definitions[4], `{"metadata":{"name":"edge","namespace":"team-1"},"spec":{"gatewayClassName":"x","listeners":[{"name":"http","port":80,"protocol":"HTTP"}]}}`)
	c.define(t, authPolicy)
	c.create(t, authPolicy, `{"metadata":{"name":"edge","namespace":"team-1"},"spec":{
		"targetRef":{"group":"gateway.networking.k8s.io","kind":"Gateway","name":"edge"},
		"rules":{"authorization":{"all":{"patternMatching":{"patterns":[{"predicate":"request.method == 'GET'"}]}}}}}}`)
	took := eventually(t, "the AuthPolicy is active", func() (bool, string) {
		text, st := s.status(t)
		return !slices.Contains(st.Sources[0].Unserved, "AuthPolicy.kuadrant.io") && st.Bundle.Counts["gateway/AuthPolicy"] == 1, text
	})
	t.Logf("active after %s, with a discovery every 2s", took)
}

func brokenWatch(t *testing.T, c *controlPlane, s *server) {
	for i := range 3 {
		c.gate.set(false) // ends all connections
		name := fmt.Sprintf("broken-%d", i)
		c.bind(t, name, name)
		t.Logf("followed after %s", s.follows(t, name, true))
	}
	s.ready(t)
}

// tooOld lets the store forget what writ would continue from.
func tooOld(t *testing.T, c *controlPlane, s *server) {
	c.gate.set(true)
	_, before := s.status(t)
	for i := range 20 {
		c.bind(t, fmt.Sprintf("old-%d", i), "old")
	}
	c.unbind(t, "broken-0")
	c.stopAPI(t)
	c.compact(t)
	c.startAPI(t) // its cache begins after what was compacted
	if !s.may(t, "broken-0", "delete", "", "secrets", "team-1") || s.may(t, "old", "delete", "", "secrets", "team-1") {
		t.Error("the last good revision is not active")
	}
	c.gate.set(false)
	t.Logf("followed after %s", s.follows(t, "old", true))
	s.follows(t, "broken-0", false)
	s.ready(t)
	if _, after := s.status(t); after.Revision == before.Revision {
		t.Error("the revision is the same")
	}
}

// gone kills the API server for a while, with its custom resources.
func gone(t *testing.T, c *controlPlane, s *server) {
	_, before := s.status(t)
	c.stopAPI(t)
	eventually(t, "the status shows that the source cannot be read", func() (bool, string) {
		text, st := s.status(t)
		return st.Ready && st.Degraded && st.Revision == before.Revision && st.LastError != "" && st.Sources[0].Error != "", text
	})
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for range int(*outage / time.Second) {
		if !s.may(t, "old", "delete", "", "secrets", "team-1") {
			t.Fatal("the last good revision does not answer")
		}
		<-tick.C
	}
	began, activations := time.Now(), s.activated()
	c.startAPI(t)
	t.Logf("the API server is ready after %s; writ is %s later", time.Since(began), s.ready(t))
	if _, after := s.status(t); after.Revision != before.Revision {
		t.Errorf("got revision %s, want %s: a starting API server does not serve its custom resources", after.Revision, before.Revision)
	}
	if n := s.activated(); n != activations {
		t.Errorf("%d revisions were activated meanwhile, want none", n-activations)
	}
	c.bind(t, "returned", "returned")
	t.Logf("followed after %s", s.follows(t, "returned", true))
}

// activated counts the revisions that were activated.
func (s *server) activated() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Count(s.log.String(), "revision activated")
}

func takenPermission(t *testing.T, c *controlPlane, s *server) {
	check(t, c.clients.RbacV1().ClusterRoleBindings().Delete(t.Context(), "reads-kuadrant", metav1.DeleteOptions{}))
	c.gate.set(false) // a running watch is not ended by the API server
	eventually(t, "the missing permission is named", func() (bool, string) {
		text, st := s.status(t)
		return st.Ready && st.Degraded && strings.Contains(st.LastError, "kuadrant.io"), text
	})
	if !s.may(t, "returned", "delete", "", "secrets", "team-1") {
		t.Error("the last good revision does not answer")
	}
}

// severalSources serves a directory and a cluster, and takes the cluster away.
func severalSources(t *testing.T, c *controlPlane) {
	dir := t.TempDir()
	binding := `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: %[1]s, namespace: team-1},
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: admin}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %[1]s}]}`
	file := filepath.Join(dir, "binding.yaml")
	check(t, os.WriteFile(file, fmt.Appendf(nil, binding, "ann"), 0o600))
	s := c.serve(t, "--policies", "kube:admin", "--policies", dir)
	s.ready(t)
	if !s.may(t, "ann", "delete", "", "secrets", "team-1") {
		t.Error("a binding of the directory to a role of the cluster does not allow")
	}
	c.stopAPI(t)
	eventually(t, "the status shows the age of the cluster", func() (bool, string) {
		text, st := s.status(t)
		return st.Ready && st.Degraded && slices.ContainsFunc(st.Sources, func(o sourceStatus) bool { return o.Stale > 0 && o.Location == "kube:admin" }), text
	})
	check(t, os.WriteFile(file, fmt.Appendf(nil, binding, "bob"), 0o600))
	s.follows(t, "bob", true) // with the last roles of the cluster
	s.follows(t, "ann", false)
	c.startAPI(t)
	s.ready(t)
}
