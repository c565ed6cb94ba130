package e2e

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The kinds of a break-glass controller, of which the tests write what it would.
var (
	session      = definition{"breakglass.t-caas.telekom.com", "v1alpha1", "BreakglassSession", true}
	debugSession = definition{"breakglass.t-caas.telekom.com", "v1alpha1", "DebugSession", true}
	denyPolicy   = definitions[0]
)

// TestSessions lets the API server authorize through a writ that watches its sessions.
func TestSessions(t *testing.T) {
	c := startControlPlane(t)
	c.kubeconfig(t)
	for _, d := range []definition{denyPolicy, session, debugSession} {
		c.define(t, d)
	}
	c.permit(t, "reads-policy", readable(rbacv1.GroupName, session.group))
	// The API server has no user in this group: only a session leads to the role.
	_, err := c.clients.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "emergency"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "admin"},
		Subjects: []rbacv1.Subject{{Kind: "Group", APIGroup: rbacv1.GroupName, Name: "emergency"}},
	}, metav1.CreateOptions{})
	check(t, err)
	chain := filepath.Join(c.dir, "chain")
	address := freeAddress(t)
	if _, stderr, status := c.run(t, "", "kubernetes", "config", "--url", "http://"+address, "--identity", "writ", "--cluster", "prod-1", "--path", chain, "--ttl", "1s", "-o", chain); status != 0 {
		t.Fatal(stderr)
	}
	s := c.serve(t, "--policies", "kube:writ", "--listen", address)
	s.ready(t)
	restarted := time.Now() // it may be over before writ has noticed it
	c.restart(t, []string{"--authorization-config", filepath.Join(chain, "authorization.yaml")})
	eventually(t, "writ reads the API server that was restarted", func() (bool, string) {
		text, st := s.status(t)
		return st.LastSuccess.After(restarted) && !st.Degraded, text
	})

	w := watch{c, s}
	w.wants(t, "before all sessions", "secrets", false)
	c.create(t, session, `{"metadata":{"name":"s1","namespace":"default"},"spec":{"cluster":"prod-1","user":"bob","grantedGroup":"emergency"},"status":{"state":"Pending"}}`)
	w.wants(t, "pending", "secrets", false)
	w.set(t, session, "s1", approved(time.Now().Add(time.Hour)))
	w.follows(t, "approved", "secrets", true)
	c.create(t, denyPolicy, `{"metadata":{"name":"no-secrets"},"spec":{"appliesTo":{"sessions":["s1"]},"rules":[{"verbs":["*"],"apiGroups":[""],"resources":["secrets"]}]}}`)
	w.follows(t, "a policy for the session denies", "secrets", false)
	w.wants(t, "and nothing else", "configmaps", true)
	w.set(t, session, "s1", `{"state":"Withdrawn"}`)
	w.follows(t, "withdrawn", "configmaps", false)

	// It ends by the clock: no document changes, and the revision stays.
	end := time.Now().Add(15 * time.Second).Truncate(time.Second)
	w.set(t, session, "s1", approved(end))
	w.follows(t, "approved for seconds", "services", true)
	_, before := s.status(t)
	took := eventually(t, "the session ends", func() (bool, string) { return !w.allowed(t, "services"), fmt.Sprint(end) })
	late := time.Since(end)
	if late < 0 {
		t.Errorf("the session ended %s before its end", -late)
	}
	if _, after := s.status(t); after.Revision != before.Revision {
		t.Errorf("the end of a session changed the revision from %s to %s", before.Revision, after.Revision)
	}
	t.Logf("ended by the clock: writ no longer allows %s after the end, seen in %s", late, took)
	if out := w.canI(t, "get", "services"); !strings.HasPrefix(out, "no") {
		eventually(t, "the API server asks again", func() (bool, string) {
			out = w.canI(t, "get", "services")
			return strings.HasPrefix(out, "no"), out
		})
		t.Logf("and the API server %s after the end, with a TTL of 1s", time.Since(end))
	}

	w.set(t, session, "s1", `{"state":"Approved","approvedAt":"2026-01-01T00:00:00Z","expiresAt":"tomorrow"}`)
	text, st := s.status(t)
	eventually(t, "a session with a mistake is a warning", func() (bool, string) {
		text, st = s.status(t)
		return strings.Contains(text, "kube:BreakglassSession/default/s1"), text
	})
	if st.Errors != 0 || st.Degraded || w.allowed(t, "configmaps") {
		t.Errorf("a session with a mistake: got %s", text)
	}

	c.create(t, debugSession, `{"metadata":{"name":"d1","namespace":"default"},"spec":{"cluster":"prod-1"}}`)
	w.set(t, debugSession, "d1", `{"state":"Active","allowedPods":[{"namespace":"default","name":"web"}],"participants":[{"user":"bob","role":"participant"}]}`)
	began := time.Now()
	eventually(t, "a DebugSession lets into its pod", func() (bool, string) {
		out := w.canI(t, "create", "pods/web", "--subresource=exec")
		return strings.HasPrefix(out, "yes"), out
	})
	t.Logf("DebugSession, active: kubectl auth can-i says so after %s", time.Since(began))
	if out := w.canI(t, "create", "pods/other", "--subresource=exec"); !strings.HasPrefix(out, "no") {
		t.Errorf("another pod: got %s", out)
	}
}

func approved(until time.Time) string {
	return fmt.Sprintf(`{"state":"Approved","approvedAt":"2026-01-01T00:00:00Z","expiresAt":%q}`, until.UTC().Format(time.RFC3339))
}

// watch asks about bob, whom writ and the API server know by sessions alone.
type watch struct {
	*controlPlane
	server *server
}

// set replaces the status of an object, as its controller does.
func (w watch) set(t *testing.T, d definition, name, status string) {
	t.Helper()
	patch, err := json.Marshal([]any{map[string]any{"op": "add", "path": "/status", "value": json.RawMessage(status)}})
	check(t, err)
	_, err = w.objects.Resource(d.resource()).Namespace("default").Patch(t.Context(), name, types.JSONPatchType, patch, metav1.PatchOptions{})
	check(t, err)
}

// allowed asks writ about the cluster prod-1.
func (w watch) allowed(t *testing.T, resource string) bool {
	t.Helper()
	body := fmt.Sprintf(`{"user":"bob","verb":"get","resource":%q,"namespace":"default","cluster":"prod-1"}`, resource)
	response, err := httpClient.Post(w.server.url+"/v1/decisions/access", "application/json", strings.NewReader(body))
	check(t, err)
	defer response.Body.Close()
	var d struct{ Allowed bool }
	check(t, json.NewDecoder(response.Body).Decode(&d))
	return d.Allowed
}

// canI asks the API server as bob.
func (w watch) canI(t *testing.T, args ...string) string {
	t.Helper()
	stdout, stderr, _ := w.kubectl(t, append([]string{"--context", "admin", "--token", "token-of-bob", "auth", "can-i", "-n", "default"}, args...)...)
	return stdout + stderr
}

// wants asks both once.
func (w watch) wants(t *testing.T, what, resource string, allowed bool) {
	t.Helper()
	if got := w.allowed(t, resource); got != allowed {
		t.Errorf("%s: writ allows: %t", what, got)
	}
	if out := w.canI(t, "get", resource); strings.HasPrefix(out, "yes") != allowed {
		t.Errorf("%s: kubectl auth can-i: %s", what, out)
	}
}

// follows waits for the answer of writ, then for that of the API server, which keeps earlier
// ones for a second.
func (w watch) follows(t *testing.T, what, resource string, allowed bool) {
	t.Helper()
	began := time.Now()
	eventually(t, what, func() (bool, string) { return w.allowed(t, resource) == allowed, "" })
	decided := time.Since(began)
	eventually(t, what+", kubectl auth can-i", func() (bool, string) {
		out := w.canI(t, "get", resource)
		return strings.HasPrefix(out, "yes") == allowed, out
	})
	t.Logf("%s: writ decides after %s, settle time of 200ms included; kubectl auth can-i says so after %s", what, decided, time.Since(began))
}
