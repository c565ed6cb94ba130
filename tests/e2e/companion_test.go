package e2e

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

var writes = flag.Int("writes", effort(300), "random writes that admission decides")

// effort is how often something random is tried: n, and in proportion with EFFORT above 10.
func effort(n int) int {
	if e, err := strconv.Atoi(os.Getenv("EFFORT")); err == nil && e > 10 {
		return n * e / 10
	}
	return n
}

// conditional are policies of writ whose conditions admission decides, of several steps that
// meet in one request.
const conditional = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: configs}
rules: [{apiGroups: [""], resources: [configmaps], verbs: ["*"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: ops}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: configs}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: ops}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: dev, namespace: anvil}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: configs}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: dev}]
---
{apiVersion: writ.dev/v1, kind: Role, metadata: {name: edit, namespace: master}, rules: [{verbs: ["*"], resourceKinds: [ConfigMap]}]}
---
{apiVersion: writ.dev/v1, kind: RoleBinding, metadata: {name: Editors, namespace: shop}, roleRef: {name: edit, namespace: master}, groupNames: [dev]}
---
apiVersion: writ.dev/v1
kind: Role
metadata: {name: fatFingeredEditor, namespace: master}
rules:
- {deny: true, verbs: [delete], resourceKinds: [ConfigMap], attributeRestrictions: {labelsContain: [protected]}}
- {deny: true, verbs: [create], resourceKinds: [ConfigMap], attributeRestrictions: {labelsContain: [tmp]}}
---
{apiVersion: writ.dev/v1, kind: RoleBinding, metadata: {name: FatFingeredEditors, namespace: shop}, roleRef: {name: fatFingeredEditor, namespace: master}, groupNames: [dev, ops]}
---
apiVersion: writ.dev/v1
kind: Role
metadata: {name: labeler, namespace: master}
rules: [{verbs: [update], resourceKinds: [ConfigMap], attributeRestrictions: {fieldsMutatable: [labels]}}]
---
{apiVersion: writ.dev/v1, kind: RoleBinding, metadata: {name: Labelers, namespace: shop}, roleRef: {name: labeler, namespace: master}, groupNames: [bots]}
---
apiVersion: writ.dev/v1
kind: Role
metadata: {name: gold, namespace: master}
rules:
- {verbs: [create, update, delete], resourceKinds: [ConfigMap], attributeRestrictions: {labelsContain: [tier=gold]}}
- {deny: true, verbs: [update], resourceKinds: [ConfigMap], attributeRestrictions: {labelsContain: [frozen], fieldsMutatable: [data]}}
---
{apiVersion: writ.dev/v1, kind: RoleBinding, metadata: {name: Gold, namespace: master}, roleRef: {name: gold}, groupNames: [gold]}
---
apiVersion: writ.dev/v1
kind: Role
metadata: {name: kubelet, namespace: master}
rules: [{verbs: ["*"], resourceKinds: [Pod], attributeRestrictions: {kind: sameMinionRestriction}}]
---
{apiVersion: writ.dev/v1, kind: RoleBinding, metadata: {name: Kubelets, namespace: master}, roleRef: {name: kubelet}, userNames: ["system:node:n1", "system:node:n2"]}
---
apiVersion: breakglass.t-caas.telekom.com/v1alpha1
kind: DenyPolicy
metadata: {name: no-databases}
spec:
  rules: [{verbs: [create], apiGroups: [""], resources: [configmaps], resourceNames: ["db-*"], namespaces: {selectorTerms: [{matchLabels: {env: prod}}]}}]
`

// everyone may do everything by RBAC of the API server: admission alone refuses.
const everyone = "everyone"

// acting returns clients that act as a user with groups.
func (c *controlPlane) acting(t *testing.T, user string, groups ...string) (*dynamic.DynamicClient, *kubernetes.Clientset) {
	t.Helper()
	return c.impersonating(t, user, append([]string{everyone}, groups...)...)
}

// impersonating is acting without what RBAC grants to everyone.
func (c *controlPlane) impersonating(t *testing.T, user string, groups ...string) (*dynamic.DynamicClient, *kubernetes.Clientset) {
	t.Helper()
	config := rest.CopyConfig(c.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
	objects, err := dynamic.NewForConfig(config)
	check(t, err)
	clients, err := kubernetes.NewForConfig(config)
	check(t, err)
	return objects, clients
}

// TestCompanion applies what writ kubernetes admission prints to an API server, and compares
// what that refuses with the decisions of writ eval on the objects.
func TestCompanion(t *testing.T) {
	c := startControlPlane(t)
	c.kubeconfig(t)
	c.populate(t)
	dir, folder := t.TempDir(), filepath.Join(c.dir, "companion")
	check(t, os.WriteFile(filepath.Join(dir, "policies.yaml"), []byte(conditional), 0o600))
	c.admit(t, dir, folder)

	t.Run("examples", func(t *testing.T) { c.admissionExamples(t) })
	t.Run("examples at the webhook", func(t *testing.T) { c.webhookExamples(t, dir) })
	t.Run("writes are decided as by eval", func(t *testing.T) { c.randomWrites(t, dir) })
	t.Run("the cost of many subjects", func(t *testing.T) { c.manySubjects(t, folder) })
	t.Run("a companion that is changed or gone", func(t *testing.T) { c.brokenCompanion(t, folder) })
	t.Run("guard", func(t *testing.T) { c.guard(t, dir) })
}

// populate creates the namespaces of the policies and writ, and grants everything to everyone.
func (c *controlPlane) populate(t *testing.T) {
	t.Helper()
	for name, labels := range map[string]map[string]string{"shop": {"env": "prod"}, "anvil": {"env": "test"}, "writ": nil} {
		_, err := c.clients.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}, metav1.CreateOptions{})
		check(t, err)
	}
	_, err := c.clients.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: everyone}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{{Kind: "Group", APIGroup: rbacv1.GroupName, Name: everyone}},
	}, metav1.CreateOptions{})
	check(t, err)
}

// admit prints the companion of a directory, applies it and waits until doctor finds it.
func (c *controlPlane) admit(t *testing.T, dir, folder string, flags ...string) {
	t.Helper()
	if _, stderr, status := c.run(t, "", append([]string{"kubernetes", "admission", dir, "-o", folder}, flags...)...); status != 0 {
		t.Fatal(stderr)
	}
	if out, stderr, status := c.kubectl(t, "--context", "admin", "apply", "-f", folder); status != 0 {
		t.Fatalf("apply the companion: %s%s", out, stderr)
	}
	took := eventually(t, "the companion is in force", func() (bool, string) {
		text := c.probed(t, folder)
		return strings.Contains(text, "is in force"), text
	})
	t.Logf("the companion is in force after %s", took)
}

// probed is what doctor says about a companion.
func (c *controlPlane) probed(t *testing.T, folder string) string {
	t.Helper()
	out, stderr, _ := c.run(t, "", "kubernetes", "doctor", "--authorization-config", "none", "--kubeconfig", filepath.Join(c.dir, "kubeconfig"), "--context", "admin",
		"--companion", folder)
	return out + stderr
}

var (
	configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	pods       = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
)

func configMap(name string, labels map[string]string, data string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}}}
	if len(labels) > 0 {
		o.SetLabels(labels)
	}
	if data != "" {
		o.Object["data"] = map[string]any{"k": data}
	}
	return o
}

func pod(name, node string) *unstructured.Unstructured {
	spec := map[string]any{"containers": []any{map[string]any{"name": "a", "image": "a"}}}
	if node != "" {
		spec["nodeName"] = node
	}
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": name}, "spec": spec}}
}

// admissionExamples are the examples of docs/admission.md: what each answer is, and why.
func (c *controlPlane) admissionExamples(t *testing.T) {
	create := func(r schema.GroupVersionResource, o *unstructured.Unstructured) {
		_, err := c.objects.Resource(r).Namespace("shop").Create(t.Context(), o, metav1.CreateOptions{})
		check(t, err)
	}
	create(configMaps, configMap("plain", nil, "v"))
	create(configMaps, configMap("precious", map[string]string{"protected": "yes"}, "v"))
	create(pods, pod("own", "n1"))
	create(pods, pod("other", "n2"))
	edgar, _ := c.acting(t, "edgar", "dev")
	bot, _ := c.acting(t, "bot", "bots")
	node, _ := c.acting(t, "system:node:n1")
	patch := func(client *dynamic.DynamicClient, r schema.GroupVersionResource, name, body string) error {
		_, err := client.Resource(r).Namespace("shop").Patch(t.Context(), name, types.MergePatchType, []byte(body), metav1.PatchOptions{})
		return err
	}
	remove := func(client *dynamic.DynamicClient, r schema.GroupVersionResource, name string) error {
		return client.Resource(r).Namespace("shop").Delete(t.Context(), name, metav1.DeleteOptions{})
	}
	for _, row := range []struct {
		what string
		err  error
		want string // of the refusal
	}{
		{"an editor deletes what is protected", remove(edgar, configMaps, "precious"), "denied by RoleBinding shop/FatFingeredEditors (Role master/fatFingeredEditor, rule 0; policies.yaml:"},
		{"an editor deletes a collection with it", edgar.Resource(configMaps).Namespace("shop").DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "protected"}), "the object has labels protected"},
		{"an editor deletes what is not", remove(edgar, configMaps, "plain"), ""},
		{"a bot changes labels", patch(bot, configMaps, "precious", `{"metadata":{"labels":{"seen":"1"}}}`), ""},
		{"a bot changes data", patch(bot, configMaps, "precious", `{"data":{"k":"w"}}`), "allows it only if no field is changed outside metadata.labels"},
		{"a bot changes labels and annotations", patch(bot, configMaps, "precious", `{"metadata":{"labels":{"seen":"2"},"annotations":{"a":"b"}}}`), "allows it only if"},
		{"a kubelet labels its pod", patch(node, pods, "own", `{"metadata":{"labels":{"seen":"1"}}}`), ""},
		{"a kubelet labels another pod", patch(node, pods, "other", `{"metadata":{"labels":{"seen":"1"}}}`), "only if the pod is on the node of the user"},
		{"a kubelet deletes another pod", remove(node, pods, "other"), "only if the pod is on the node of the user"},
	} {
		if row.want == "" {
			wantCode(t, row.what, row.err, http.StatusOK)
			continue
		}
		if wantCode(t, row.what, row.err, http.StatusForbidden); row.err == nil || !strings.Contains(row.err.Error(), row.want) {
			t.Errorf("%s: got %v, want %q", row.what, row.err, row.want)
		}
	}
}

// webhookExamples are the same examples at the webhook, without and with facts.
func (c *controlPlane) webhookExamples(t *testing.T, dir string) {
	_, err := c.objects.Resource(configMaps).Namespace("shop").Create(t.Context(), configMap("plain", nil, "v"), metav1.CreateOptions{})
	check(t, err)
	c.permit(t, "facts", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps", "pods", "namespaces"}, Verbs: []string{"get"}})
	config := c.write(t, "writ.kubeconfig", c.Kubeconfig(c.gate.address(), "writ"))
	servers := map[string]*server{}
	for name, facts := range map[string]string{"off": "", "on": ", facts: [labels, node]"} {
		clusters := c.write(t, name+".yaml", []byte("clusters: [{name: main, kubeconfig: "+config+", context: writ, default: true"+facts+"}]"))
		servers[name] = c.serve(t, "--policies", dir, "--clusters", clusters)
		servers[name].ready(t)
	}
	for _, row := range []struct {
		user, group, verb, resource, name string
		off, on                           string
	}{
		{"edgar", "dev", "delete", "configmaps", "plain", "denied", "allowed"},
		{"edgar", "dev", "delete", "configmaps", "precious", "denied", "denied"},
		{"edgar", "dev", "deletecollection", "configmaps", "", "denied", "denied"},
		{"edgar", "dev", "create", "configmaps", "", "denied", "denied"}, // labels of a new object are not known
		{"bot", "bots", "patch", "configmaps", "precious", "none", "none"},
		{"system:node:n1", everyone, "patch", "pods", "own", "none", "allowed"},
		{"system:node:n1", everyone, "patch", "pods", "other", "none", "none"},
		{"system:node:n1", everyone, "delete", "pods", "own", "none", "allowed"},
	} {
		spec := question(row.user, row.verb, "", row.resource, "shop")
		spec.Groups, spec.ResourceAttributes.Name, spec.ResourceAttributes.Version = []string{row.group}, row.name, "v1"
		for facts, want := range map[string]string{"off": row.off, "on": row.on} {
			status, got := servers[facts].review(t, spec), "none"
			switch {
			case status.Allowed:
				got = "allowed"
			case status.Denied:
				got = "denied"
			}
			if got != want {
				t.Errorf("%s %s %s/%s, facts %s: got %s (%s), want %s", row.user, row.verb, row.resource, row.name, facts, got, status.Reason, want)
			}
		}
	}
}

// TestStaticAdmission has an API server read the companion and the guard from its disk: the API
// cannot change them, and they guard its admission policies too.
func TestStaticAdmission(t *testing.T) {
	c := startControlPlane(t)
	c.kubeconfig(t)
	c.populate(t)
	dir, folder := t.TempDir(), filepath.Join(c.dir, "static")
	check(t, os.WriteFile(filepath.Join(dir, "policies.yaml"), []byte(conditional), 0o600))
	if _, stderr, status := c.run(t, "", "kubernetes", "admission", dir, "--static", "--path", folder, "-o", folder, "--guard", "--writer", "user:argo"); status != 0 {
		t.Fatal(stderr)
	}
	c.restart(t, []string{"--authorization-mode", "RBAC", "--admission-control-config-file", filepath.Join(folder, "admission.yaml"),
		"--feature-gates", "ManifestBasedAdmissionControlConfig=true"}) // it is on in 1.37
	text := c.probed(t, folder)
	for _, want := range []string{"is in force", "the API server reads static manifests"} {
		if !strings.Contains(text, want) {
			t.Errorf("doctor: got %s, want %q", text, want)
		}
	}
	_, err := c.clients.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, metav1.CreateOptions{})
	if wantCode(t, "a policy document", err, http.StatusForbidden); err == nil || !strings.Contains(err.Error(), "writ-guard") {
		t.Errorf("got %v, want a refusal of the guard", err)
	}
	api := filepath.Join(c.dir, "api")
	if _, stderr, status := c.run(t, "", "kubernetes", "admission", dir, "-o", api); status != 0 {
		t.Fatal(stderr)
	}
	if out, stderr, status := c.kubectl(t, "--context", "admin", "create", "-f", api); status == 0 || !strings.Contains(stderr, "writ-guard") {
		t.Errorf("an admission policy: got %d, %s%s, want a refusal of the guard", status, out, stderr)
	}
	_, err = c.clients.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, metav1.CreateOptions{})
	wantCode(t, "a config map", err, http.StatusOK)
	t.Run("writes are decided as by eval", func(t *testing.T) { c.randomWrites(t, dir) })
}

// aWrite is a random write of a config map, and what writ is asked about it.
type aWrite struct {
	user             string
	groups           []string
	verb, in, name   string
	before, after    map[string]string // labels; before is nil on create, after on delete
	fields           []string
	asks, asPossible []map[string]any // by version, and by every value of what the object says
	do               func() error
	isApplied        bool // a patch that creates
}

// ask is a canonical request of the write for an object.
func (w *aWrite) ask(labels map[string]string, fields []string, name string) map[string]any {
	env := map[string]string{"shop": "prod", "anvil": "test"}[w.in]
	r := map[string]any{"user": w.user, "groups": w.groups, "verb": w.verb, "resource": "configmaps", "namespace": w.in, "name": name,
		"labels": labels, "namespaceLabels": map[string]string{"env": env}}
	if fields != nil {
		r["fields"] = fields
	}
	return r
}

func (w *aWrite) questions() {
	for _, labels := range []map[string]string{w.before, w.after} {
		if labels != nil {
			w.asks = append(w.asks, w.ask(labels, w.fields, w.name))
		}
	}
	names, fields := []string{w.name}, [][]string{nil}
	if w.verb == "create" {
		names = []string{"db-x", "x"}
	}
	if w.fields != nil {
		fields = [][]string{{}, {"metadata.labels.x"}, {"data.k"}, {"data.k", "metadata.labels.x"}}
	}
	for bits := range 16 {
		labels := labelsOf(bits)
		for _, list := range fields {
			for _, name := range names {
				w.asPossible = append(w.asPossible, w.ask(labels, list, name))
			}
		}
	}
}

// labelsOf are the labels that policies compare.
func labelsOf(bits int) map[string]string {
	out := map[string]string{}
	for i, pair := range [][2]string{{"protected", "yes"}, {"tier", "gold"}, {"frozen", ""}, {"tmp", "1"}} {
		if bits>>i&1 == 1 {
			out[pair[0]] = pair[1]
		}
	}
	return out
}

// randomWrites sends writes of twenty users, as dry runs, and compares the answers with writ
// eval.
func (c *controlPlane) randomWrites(t *testing.T, dir string) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	d := rand.New(rand.NewPCG(seed, 1))
	c.labelledMaps(t)
	groups := groupsOf(20)
	clients := make([]*dynamic.DynamicClient, len(groups))
	for i := range clients {
		clients[i], _ = c.acting(t, fmt.Sprintf("u%d", i), groups[i]...)
	}
	all := make([]*aWrite, *writes)
	for i := range all {
		u := d.IntN(len(clients))
		all[i] = c.randomWrite(t, d, clients[u])
		all[i].user, all[i].groups = fmt.Sprintf("u%d", u), append([]string{everyone}, groups[u]...)
		all[i].questions()
	}
	errs := make([]error, len(all))
	parallel(t, len(all), func(i int) error {
		errs[i] = all[i].do()
		return nil
	})
	counts := map[string]int{}
	for start := 0; start < len(all); start += 500 {
		c.compareWrites(t, dir, all[start:min(start+500, len(all))], errs[start:], counts)
	}
	t.Log(counts)
	for _, name := range []string{"passes", "refused"} {
		if counts[name] < len(all)/20 {
			t.Errorf("got %d of %d writes with %q, too few", counts[name], len(all), name)
		}
	}
}

// labelledMaps creates a config map for each set of labels in each namespace.
func (c *controlPlane) labelledMaps(t *testing.T) {
	t.Helper()
	for i := range 32 {
		in := []string{"shop", "anvil"}[i/16]
		_, err := c.objects.Resource(configMaps).Namespace(in).Create(t.Context(), configMap(fmt.Sprintf("c%d", i%16), labelsOf(i%16), "v"), metav1.CreateOptions{})
		check(t, err)
	}
}

// groupsOf are the groups of users.
func groupsOf(users int) [][]string {
	out := make([][]string, users)
	for i := range out {
		for bit, group := range []string{"dev", "bots", "gold", "ops"} {
			if i>>bit&1 == 1 {
				out[i] = append(out[i], group)
			}
		}
	}
	return out
}

// randomWrite draws a write and how it is sent.
func (c *controlPlane) randomWrite(t *testing.T, d *rand.Rand, client *dynamic.DynamicClient) *aWrite {
	w := &aWrite{in: []string{"shop", "anvil"}[d.IntN(2)]}
	bits := d.IntN(16)
	w.name, w.before = fmt.Sprintf("c%d", bits), labelsOf(bits)
	objects, dry := client.Resource(configMaps).Namespace(w.in), []string{metav1.DryRunAll}
	switch kind := d.IntN(7); kind {
	case 0, 1: // create
		w.verb, w.before, w.after = "create", nil, labelsOf(d.IntN(16))
		w.name = []string{"db-1", "new"}[d.IntN(2)]
		data := []string{"", "v"}[d.IntN(2)]
		w.fields = pathsOf(w.after, data)
		w.do = func() error {
			_, err := objects.Create(t.Context(), configMap(w.name, w.after, data), metav1.CreateOptions{DryRun: dry})
			return err
		}
	case 2:
		w.verb = "delete"
		w.do = func() error { return objects.Delete(t.Context(), w.name, metav1.DeleteOptions{DryRun: dry}) }
	case 3:
		w.verb = "deletecollection"
		name := w.name
		w.name = ""
		w.do = func() error {
			return objects.DeleteCollection(t.Context(), metav1.DeleteOptions{DryRun: dry}, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
		}
	default: // update, patch, apply
		w.verb = []string{"update", "patch", "patch"}[kind-4]
		w.after = labelsOf(bits)
		if d.IntN(3) > 0 {
			w.after = labelsOf(bits ^ 1<<d.IntN(4))
		}
		data := []string{"v", "w"}[d.IntN(2)]
		w.fields = []string{}
		for key := range labelsOf(15) {
			if before, after := w.before[key], w.after[key]; before != after || (key == "frozen" && hasKey(w.before, key) != hasKey(w.after, key)) {
				w.fields = append(w.fields, "metadata.labels."+key)
			}
		}
		if data != "v" {
			w.fields = append(w.fields, "data.k")
		}
		w.do = c.change(t, objects, w, kind, data, dry)
	}
	return w
}

func hasKey(m map[string]string, key string) bool {
	_, ok := m[key]
	return ok
}

func pathsOf(labels map[string]string, data string) []string {
	out := []string{}
	for key := range labels {
		out = append(out, "metadata.labels."+key)
	}
	if data != "" {
		out = append(out, "data.k")
	}
	return out
}

// change sends a change as an update, a merge patch or an applied configuration.
func (c *controlPlane) change(t *testing.T, objects dynamic.ResourceInterface, w *aWrite, kind int, data string, dry []string) func() error {
	patch := func(as types.PatchType, labels map[string]any) error {
		body, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": w.name, "labels": labels}, "data": map[string]any{"k": data}})
		check(t, err)
		force := as == types.ApplyPatchType
		options := metav1.PatchOptions{DryRun: dry, FieldManager: "e2e"}
		if force {
			options.Force = &force
		}
		_, err = objects.Patch(t.Context(), w.name, as, body, options)
		return err
	}
	labels := map[string]any{}
	for key, value := range w.after {
		labels[key] = value
	}
	switch kind {
	case 4:
		return func() error {
			_, err := objects.Update(t.Context(), configMap(w.name, w.after, data), metav1.UpdateOptions{DryRun: dry})
			return err
		}
	case 5:
		for key := range w.before {
			if !hasKey(w.after, key) {
				labels[key] = nil
			}
		}
		return func() error { return patch(types.MergePatchType, labels) }
	default: // an applied configuration takes nothing away that it does not own
		w.after = maps.Clone(w.after)
		maps.Copy(w.after, w.before)
		w.fields = slices.DeleteFunc(w.fields, func(path string) bool { return hasKey(w.before, strings.TrimPrefix(path, "metadata.labels.")) })
		return func() error { return patch(types.ApplyPatchType, labels) }
	}
}

// evalWrites returns the decisions of writ eval on what the writes ask, in order.
func (c *controlPlane) evalWrites(t *testing.T, dir string, all []*aWrite) []string {
	t.Helper()
	var input bytes.Buffer
	lines := 0
	for _, w := range all {
		for _, r := range slices.Concat(w.asks, w.asPossible) {
			check(t, json.NewEncoder(&input).Encode(r))
			lines++
		}
	}
	stdout, stderr, status := c.run(t, input.String(), "eval", "--policies", dir)
	if status != 0 {
		t.Fatal(stderr)
	}
	decisions := make([]string, 0, lines)
	for line := range strings.Lines(stdout) {
		var d struct{ Allowed, Denied bool }
		check(t, json.Unmarshal([]byte(line), &d))
		switch {
		case d.Allowed:
			decisions = append(decisions, "allowed")
		case d.Denied:
			decisions = append(decisions, "denied")
		default:
			decisions = append(decisions, "none")
		}
	}
	if len(decisions) != lines {
		t.Fatalf("got %d decisions for %d requests", len(decisions), lines)
	}
	return decisions
}

// compareWrites compares answers of the API server with decisions of writ eval.
func (c *controlPlane) compareWrites(t *testing.T, dir string, all []*aWrite, errs []error, counts map[string]int) {
	t.Helper()
	decisions := c.evalWrites(t, dir, all)
	for i, w := range all {
		own, possible := decisions[:len(w.asks)], decisions[len(w.asks):len(w.asks)+len(w.asPossible)]
		decisions = decisions[len(w.asks)+len(w.asPossible):]
		refused := errs[i] != nil && strings.Contains(errs[i].Error(), "writ-companion-")
		if errs[i] != nil && !refused {
			t.Errorf("%s %s: %v", w.verb, w.name, errs[i])
			continue
		}
		isDenied, isAllowed := slices.Contains(own, "denied"), !slices.ContainsFunc(own, func(d string) bool { return d != "allowed" })
		couldPass := slices.Contains(possible, "allowed")
		want := isDenied || !isAllowed && couldPass
		switch {
		case isDenied && !slices.ContainsFunc(possible, func(d string) bool { return d != "denied" }):
			counts["denied by the review"]++
			continue
		case refused:
			counts["refused"]++
		default:
			counts["passes"]++
		}
		if refused != want {
			counts["different"]++
			t.Errorf("%s %s/%s by %s of %v, labels %v to %v, fields %v: decided %v, got %v", w.verb, w.in, w.name, w.user, w.groups, w.before, w.after, w.fields, own, errs[i])
		}
	}
}

// manySubjects checks that a validation with a thousand subjects is within the cost limit of an
// API server.
func (c *controlPlane) manySubjects(t *testing.T, before string) {
	var text strings.Builder
	text.WriteString("{apiVersion: writ.dev/v1, kind: Role, metadata: {name: many, namespace: master}, rules: [{deny: true, verbs: [delete, update], resourceKinds: [ConfigMap], attributeRestrictions: {labelsContain: [protected], fieldsMutatable: [labels]}}]}\n---\n" +
		"apiVersion: writ.dev/v1\nkind: RoleBinding\nmetadata: {name: many, namespace: shop}\nroleRef: {name: many, namespace: master}\ngroupNames:\n")
	for i := range 990 {
		fmt.Fprintf(&text, "- group-%d\n", i)
	}
	dir := t.TempDir()
	check(t, os.WriteFile(filepath.Join(dir, "p.yaml"), []byte(text.String()), 0o600))
	c.admit(t, dir, filepath.Join(c.dir, "many"))
	var groups []string
	for i := 989; i > 889; i-- {
		groups = append(groups, fmt.Sprintf("group-%d", i))
	}
	member, _ := c.acting(t, "ann", groups...)
	other, _ := c.acting(t, "ann")
	patch := []byte(`{"metadata":{"labels":{"x":"1"}}}`)
	options := metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}
	_, err := member.Resource(configMaps).Namespace("shop").Patch(t.Context(), "precious", types.MergePatchType, patch, options)
	if wantCode(t, "a change of what is protected", err, http.StatusForbidden); err == nil || !strings.Contains(err.Error(), "denied by RoleBinding shop/many") {
		t.Errorf("got %v, want the binding", err)
	}
	_, err = other.Resource(configMaps).Namespace("shop").Patch(t.Context(), "precious", types.MergePatchType, patch, options)
	wantCode(t, "by another user", err, http.StatusOK)
	if _, stderr, status := c.kubectl(t, "--context", "admin", "apply", "-f", before); status != 0 {
		t.Fatal(stderr)
	}
}

// brokenCompanion takes a part of the companion away: doctor finds that.
func (c *controlPlane) brokenCompanion(t *testing.T, folder string) {
	finds := func(what string) {
		t.Helper()
		eventually(t, "doctor finds "+what, func() (bool, string) {
			text := c.probed(t, folder)
			return strings.Contains(text, what), text
		})
	}
	finds("is in force")
	policies := c.clients.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	check(t, policies.Delete(t.Context(), "writ-companion-1", metav1.DeleteOptions{}))
	finds("slice 1 is not in force: the probe passes")
	dir := t.TempDir()
	check(t, os.WriteFile(filepath.Join(dir, "policies.yaml"), []byte(strings.Replace(conditional, "[protected]", "[kept]", 1)), 0o600))
	c.admit(t, dir, filepath.Join(c.dir, "stale"))
	finds("slice 1 in force is of companion")
}

// guard lets the writers alone change policy documents; the control plane goes on.
func (c *controlPlane) guard(t *testing.T, dir string) {
	for _, d := range []definition{{"writ.dev", "v1", "RoleBinding", true}} {
		c.define(t, d)
	}
	folder := filepath.Join(c.dir, "guard")
	c.admit(t, dir, folder, "--guard", "--writer", "user:argo", "--writer", "group:admins")
	create := func(clients *kubernetes.Clientset, name string) error {
		_, err := clients.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	_, argo := c.acting(t, "argo")
	_, admins := c.acting(t, "ann", "admins")
	eveObjects, eve := c.acting(t, "eve", "system:masters")
	eventually(t, "the guard is in force", func() (bool, string) {
		err := create(eve, "x")
		return err != nil && strings.Contains(err.Error(), "only user:argo, group:admins may change policy documents (writ-guard)"), fmt.Sprint(err)
	})
	wantCode(t, "a writer", create(argo, "x"), http.StatusOK)
	wantCode(t, "a group of writers", create(admins, "x"), http.StatusOK)
	wantCode(t, "a member of system:masters", create(c.clients, "x"), http.StatusForbidden)
	refuse := func(what string, err error) {
		t.Helper()
		if code(err) != http.StatusForbidden || !strings.Contains(err.Error(), "writ-guard") {
			t.Errorf("%s: got %v, want a refusal of the guard", what, err)
		}
	}
	binding := schema.GroupVersionResource{Group: "writ.dev", Version: "v1", Resource: "rolebindings"}
	_, err := eveObjects.Resource(binding).Namespace("shop").Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "writ.dev/v1", "kind": "RoleBinding", "metadata": map[string]any{"name": "x"}}}, metav1.CreateOptions{})
	refuse("a document of writ", err)
	crds := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	refuse("its definition", eveObjects.Resource(crds).Delete(t.Context(), "rolebindings.writ.dev", metav1.DeleteOptions{}))
	dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	_, err = eve.CoreV1().Secrets("writ").Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, dry)
	refuse("a Secret of writ", err)
	_, err = eve.CoreV1().Secrets("shop").Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, dry)
	wantCode(t, "a Secret elsewhere", err, http.StatusOK)
	_, aggregation := c.acting(t, "system:serviceaccount:kube-system:clusterrole-aggregation-controller")
	view, err := c.clients.RbacV1().ClusterRoles().Get(t.Context(), "view", metav1.GetOptions{})
	check(t, err)
	_, err = aggregation.RbacV1().ClusterRoles().Update(t.Context(), view, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
	wantCode(t, "aggregation", err, http.StatusOK)
	refuse("aggregation does not create", create(aggregation, "x"))
	_, collector := c.acting(t, "system:serviceaccount:kube-system:namespace-controller")
	err = collector.RbacV1().ClusterRoleBindings().Delete(t.Context(), everyone, metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
	wantCode(t, "deletion of a namespace", err, http.StatusOK)
	if text := c.probed(t, folder); !strings.Contains(text, "is in force") {
		t.Errorf("the guard must let the probe reach the companion: %s", text)
	}
}
