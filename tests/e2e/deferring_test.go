package e2e

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// kept is how long the API server keeps answers of the webhook.
const kept = 10 * time.Second

// widgets are policies about a custom resource.
const widgets = `kind: Role
apiVersion: writ.dev/v1
metadata: {name: widgets, namespace: master}
rules: [{verbs: [create], resourceKinds: [widgets], attributeRestrictions: {labelsContain: [tier=gold]}}]
---
{apiVersion: writ.dev/v1, kind: RoleBinding, metadata: {name: Widgets, namespace: shop}, roleRef: {name: widgets, namespace: master}, groupNames: [smiths]}
`

// deferring is a control plane that authorizes by writ and admits by its companion.
type deferring struct {
	*controlPlane
	dir, folder, address string
	second               *gate // to the API server, as another address of it
}

// TestDeferring has an API server ask writ before a write and the companion of writ at
// admission: only both together allow what an object decides.
func TestDeferring(t *testing.T) {
	c := &deferring{controlPlane: startControlPlane(t), dir: t.TempDir(), address: freeAddress(t)}
	c.kubeconfig(t)
	c.populate(t)
	c.permit(t, "probe", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"create"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get"}},
		rbacv1.PolicyRule{APIGroups: []string{"apiregistration.k8s.io"}, Resources: []string{"apiservices"}, Verbs: []string{"list"}})
	check(t, os.WriteFile(filepath.Join(c.dir, "policies.yaml"), []byte(conditional), 0o600))
	check(t, os.WriteFile(filepath.Join(c.dir, "widgets.yaml"), []byte(widgets), 0o600))
	c.define(t, definition{"example.com", "v1", "Widget", true})
	c.folder = filepath.Join(c.controlPlane.dir, "companion")
	c.admit(t, c.dir, c.folder, "--cluster", "main")

	c.second = openGate(t, c.Address)
	config := c.write(t, "writ.kubeconfig", c.Kubeconfig(c.gate.address(), "writ"))
	clusters := c.write(t, "clusters.yaml", fmt.Appendf(nil, "clusters: [{name: main, kubeconfig: %s, context: writ, default: true, companion: true, companionAddresses: ['https://%s', 'https://%s']}]",
		config, c.gate.address(), c.second.address()))
	c.serveAt(t, c.address, c.dir, "--clusters", clusters, "--companion-probe-namespace", "writ")
	chain := filepath.Join(c.controlPlane.dir, "chain")
	if _, stderr, status := c.run(t, "", "kubernetes", "config", "--url", "http://"+c.address, "--identity", "writ", "--path", chain, "--ttl", kept.String(), "-o", chain); status != 0 {
		t.Fatal(stderr)
	}
	c.restart(t, []string{"--authorization-config", filepath.Join(chain, "authorization.yaml")})
	c.inForce(t, true)

	t.Run("examples", func(t *testing.T) { c.examples(t, true) })
	t.Run("writes are decided as by eval", func(t *testing.T) { c.randomWrites(t) })
	t.Run("a companion that is not in force", func(t *testing.T) { c.broken(t) })
}

// inForce waits until writ has found the companion in force, or not.
func (c *deferring) inForce(t *testing.T, want bool) {
	t.Helper()
	line := `writ_companion_in_force{cluster="main"} 0`
	if want {
		line = `writ_companion_in_force{cluster="main"} 1`
	}
	took := eventually(t, line, func() (bool, string) {
		response, err := httpClient.Get("http://" + c.address + "/metrics")
		if err != nil {
			return false, err.Error()
		}
		defer response.Body.Close()
		content, err := io.ReadAll(response.Body)
		return strings.Contains(string(content), line), fmt.Sprint(err)
	})
	t.Logf("%s after %s", line, took.Round(time.Millisecond))
	if took > 30*time.Second {
		t.Errorf("%s takes %s, more than 30s", line, took)
	}
}

// examples are the examples of docs/admission.md, for users to whom RBAC grants nothing.
// Strictly none of them is allowed.
func (c *deferring) examples(t *testing.T, isDeferred bool) {
	for _, o := range []struct {
		r      schema.GroupVersionResource
		name   string
		labels map[string]string
		node   string
	}{{configMaps, "plain", nil, ""}, {configMaps, "precious", map[string]string{"protected": "yes"}, ""}, {pods, "own", nil, "n1"}, {pods, "other", nil, "n2"}} {
		object := configMap(o.name, o.labels, "v")
		if o.r == pods {
			object = pod(o.name, o.node)
		}
		_, err := c.objects.Resource(o.r).Namespace("shop").Create(t.Context(), object, metav1.CreateOptions{})
		check(t, err)
		defer func() {
			now := int64(0)
			_ = c.objects.Resource(o.r).Namespace("shop").Delete(t.Context(), o.name, metav1.DeleteOptions{GracePeriodSeconds: &now}) // a test may have deleted it
		}()
	}
	edgar, _ := c.impersonating(t, "edgar", "dev")
	bot, _ := c.impersonating(t, "bot", "bots")
	node, _ := c.impersonating(t, "system:node:n1", "agents") // a member of system:nodes is not asked about
	patch := func(client *dynamic.DynamicClient, r schema.GroupVersionResource, name, body string) error {
		_, err := client.Resource(r).Namespace("shop").Patch(t.Context(), name, types.MergePatchType, []byte(body), metav1.PatchOptions{})
		return err
	}
	remove := func(client *dynamic.DynamicClient, r schema.GroupVersionResource, name string) error {
		return client.Resource(r).Namespace("shop").Delete(t.Context(), name, metav1.DeleteOptions{})
	}
	smith, _ := c.impersonating(t, "smith", "smiths")
	forge := func(labels map[string]string) error {
		widget := configMap("w", labels, "")
		widget.SetAPIVersion("example.com/v1")
		widget.SetKind("Widget")
		_, err := smith.Resource(definition{"example.com", "v1", "Widget", true}.resource()).Namespace("shop").Create(t.Context(), widget, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	for _, row := range []struct {
		what string
		err  error
		want string // of the refusal, with the companion; empty: allowed
	}{
		{"an editor deletes what is protected", remove(edgar, configMaps, "precious"), "writ-companion-1"},
		{"an editor deletes a collection with it", edgar.Resource(configMaps).Namespace("shop").DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: "metadata.name=precious"}), "writ-companion-1"},
		{"an editor selects what is protected", edgar.Resource(configMaps).Namespace("shop").DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "protected"}), "denied by"},
		{"an editor deletes what is not", remove(edgar, configMaps, "plain"), ""},
		{"a bot changes labels", patch(bot, configMaps, "precious", `{"metadata":{"labels":{"seen":"1"}}}`), ""},
		{"a bot changes data", patch(bot, configMaps, "precious", `{"data":{"k":"w"}}`), "writ-companion-1"},
		{"a bot changes labels and annotations", patch(bot, configMaps, "precious", `{"metadata":{"labels":{"seen":"2"},"annotations":{"a":"b"}}}`), "writ-companion-1"},
		{"a kubelet labels its pod", patch(node, pods, "own", `{"metadata":{"labels":{"seen":"1"}}}`), ""},
		{"a kubelet labels another pod", patch(node, pods, "other", `{"metadata":{"labels":{"seen":"1"}}}`), "writ-companion-1"},
		{"a kubelet deletes another pod", remove(node, pods, "other"), "writ-companion-1"},
		{"a smith makes a custom resource of gold", forge(map[string]string{"tier": "gold"}), ""},
		{"a smith makes one of tin", forge(map[string]string{"tier": "tin"}), "writ-companion-1"},
		{"a bot deletes", remove(bot, configMaps, "precious"), "no rule allows"}, // as before
	} {
		t.Logf("%s: %v", row.what, row.err)
		if isDeferred && row.want == "" {
			wantCode(t, row.what, row.err, http.StatusOK)
			continue
		}
		wantCode(t, row.what, row.err, http.StatusForbidden)
		if row.err != nil && strings.Contains(row.err.Error(), "writ-companion-1") != (isDeferred && row.want == "writ-companion-1") {
			t.Errorf("%s: got %v, want %q", row.what, row.err, row.want)
		}
	}
}

// randomWrites sends writes of users with and without RBAC behind writ, as dry runs, and
// compares them with the decisions of writ eval on the objects.
func (c *deferring) randomWrites(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	d := rand.New(rand.NewPCG(seed, 3))
	c.labelledMaps(t)
	groups := groupsOf(32)
	clients := make([]*dynamic.DynamicClient, len(groups))
	for i := range groups {
		if i >= 16 {
			groups[i] = append([]string{everyone}, groups[i-16]...)
		}
		clients[i], _ = c.impersonating(t, fmt.Sprintf("u%d", i), groups[i]...)
	}
	all := make([]*aWrite, *writes)
	errs := make([]error, len(all))
	for i := range all {
		u := d.IntN(len(clients))
		if d.IntN(8) > 0 {
			all[i] = c.randomWrite(t, d, clients[u])
		} else {
			all[i] = c.applied(t, d, clients[u])
		}
		all[i].user, all[i].groups = fmt.Sprintf("u%d", u), groups[u]
		all[i].questions()
	}
	parallel(t, len(all), func(i int) error {
		errs[i] = all[i].do()
		return nil
	})
	counts := map[string]int{}
	for start := 0; start < len(all); start += 500 {
		c.compare(t, all[start:min(start+500, len(all))], errs[start:], counts)
	}
	t.Log(counts)
	for name, least := range map[string]int{"passes": 10, "refused by the companion": 20, "refused by the review": 20, "passes by deferring": 50} {
		if counts[name] < len(all)/least {
			t.Errorf("got %d of %d writes with %q, too few", counts[name], len(all), name)
		}
	}
}

// applied draws an applied configuration that creates its object: a patch and a create.
func (c *deferring) applied(t *testing.T, d *rand.Rand, client *dynamic.DynamicClient) *aWrite {
	w := &aWrite{in: []string{"shop", "anvil"}[d.IntN(2)], verb: "create", name: []string{"db-2", "applied"}[d.IntN(2)], after: labelsOf(d.IntN(16)), isApplied: true}
	w.fields = pathsOf(w.after, "v")
	objects := client.Resource(configMaps).Namespace(w.in)
	w.do = func() error {
		_, err := objects.Apply(t.Context(), w.name, configMap(w.name, w.after, "v"), metav1.ApplyOptions{FieldManager: "e2e", Force: true, DryRun: []string{metav1.DryRunAll}})
		return err
	}
	return w
}

// compare compares answers of the API server with decisions of writ eval.
func (c *deferring) compare(t *testing.T, all []*aWrite, errs []error, counts map[string]int) {
	t.Helper()
	decisions := c.evalWrites(t, c.dir, all)
	for i, w := range all {
		own, possible := decisions[:len(w.asks)], decisions[len(w.asks):len(w.asks)+len(w.asPossible)]
		decisions = decisions[len(w.asks)+len(w.asPossible):]
		err := errs[i]
		if err != nil && code(err) != http.StatusForbidden {
			t.Errorf("%s %s: %v", w.verb, w.name, err)
			continue
		}
		isDenied, isAllowed := slices.Contains(own, "denied"), !slices.ContainsFunc(own, func(d string) bool { return d != "allowed" })
		hasRBAC, couldPass := slices.Contains(w.groups, everyone), slices.Contains(possible, "allowed")
		differ := func(what string) {
			counts[what]++
			t.Errorf("%s: %s %s/%s by %s of %v, labels %v to %v, fields %v: decided %v, got %v", what, w.verb, w.in, w.name, w.user, w.groups, w.before, w.after, w.fields, own, err)
		}
		want := isAllowed || hasRBAC && !isDenied && !couldPass
		switch {
		case err == nil && !want:
			differ("weaker")
		case err != nil && want && w.isApplied:
			counts["stricter: the patch that creates"]++ // is asked as a patch too
		case err != nil && want:
			differ("stricter")
		case err == nil:
			if counts["passes"]++; isAllowed && slices.ContainsFunc(possible, func(d string) bool { return d != "allowed" }) {
				counts["passes by deferring"]++
			}
		case strings.Contains(err.Error(), "writ-companion-"):
			counts["refused by the companion"]++
		default:
			counts["refused by the review"]++
		}
	}
}

// broken takes the companion away: within 30 seconds reviews are strict, and the answers that
// the API server keeps end soon after.
func (c *deferring) broken(t *testing.T) {
	strict := func(what string) {
		t.Helper()
		t.Log(what)
		c.inForce(t, false)
		time.Sleep(kept + time.Second)
		c.examples(t, false)
	}
	again := func() {
		t.Helper()
		if out, stderr, status := c.kubectl(t, "--context", "admin", "apply", "-f", c.folder); status != 0 {
			t.Fatalf("apply the companion: %s%s", out, stderr)
		}
		c.inForce(t, true)
		time.Sleep(kept + time.Second) // denials are kept too
	}
	check(t, c.clients.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Delete(t.Context(), "writ-companion-1", metav1.DeleteOptions{}))
	strict("the binding is deleted")
	again()
	c.examples(t, true)
	other := t.TempDir()
	check(t, os.WriteFile(filepath.Join(other, "policies.yaml"), []byte(strings.Replace(conditional, "[protected]", "[kept]", 1)), 0o600))
	stale := filepath.Join(c.controlPlane.dir, "stale")
	if _, stderr, status := c.run(t, "", "kubernetes", "admission", other, "--cluster", "main", "-o", stale); status != 0 {
		t.Fatal(stderr)
	}
	if out, stderr, status := c.kubectl(t, "--context", "admin", "apply", "-f", stale); status != 0 {
		t.Fatalf("apply the other companion: %s%s", out, stderr)
	}
	c.inForce(t, false)
	again()
	c.second.set(true)
	c.inForce(t, false)
	c.second.set(false)
	c.inForce(t, true)
}
