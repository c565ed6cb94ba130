package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/writ-policy/writ/server/decision"
)

// documentsPerFile is how a team might split its documents: a changed binding
// makes one such file be read again.
const documentsPerFile = 1000

// world is a directory of n roles with three rules each and n bindings: half
// name a user, half a group, one in ten reaches the whole cluster. A user is in
// five groups. So what one user is granted stays the same as n grows.
type world struct {
	n, perFile int // bindings, and documents in a file
	dir        string
	// scratch is a folder for what is made of the documents.
	scratch string
	// changing is a file of one binding, rewritten to measure a reload.
	changing string
	random   *rand.Rand
}

var (
	verbs     = []string{"get", "list", "watch", "create", "update", "patch", "delete"}
	groups    = []string{"", "apps", "batch", "networking.k8s.io"}
	resources = []string{"pods", "deployments", "jobs", "services", "configmaps", "secrets", "ingresses", "pods/log"}
)

func newWorld(n, perFile int) (*world, error) {
	dir, err := os.MkdirTemp("", "writ-bench-")
	if err != nil {
		return nil, err
	}
	scratch, err := os.MkdirTemp("", "writ-bench-")
	if err != nil {
		return nil, err
	}
	w := &world{n: n, perFile: perFile, dir: dir, scratch: scratch, changing: filepath.Join(dir, "changing.yaml"), random: rand.New(rand.NewPCG(uint64(n), 7))}
	if err := w.write("role", w.role); err != nil {
		return nil, err
	}
	if err := w.write("binding", w.binding); err != nil {
		return nil, err
	}
	const role = `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: changing},
 rules: [{verbs: [get], apiGroups: [""], resources: [pods]}]}`
	if err := os.WriteFile(filepath.Join(dir, "changing-role.yaml"), []byte(role), 0o644); err != nil {
		return nil, err
	}
	return w, w.change("someone")
}

func (w *world) close() {
	_ = os.RemoveAll(w.dir)
	_ = os.RemoveAll(w.scratch)
}

// change rewrites the one binding.
func (w *world) change(user string) error {
	text := fmt.Sprintf(`apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: changing}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: changing}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: %s}]
`, user)
	return os.WriteFile(w.changing, []byte(text), 0o644)
}

// changed is a request in the user's own namespace that the changed binding allows.
func changed(user string) *decision.Request {
	return &decision.Request{User: user, Verb: "get", Resource: "pods", Namespace: "of-" + user}
}

// deny adds n deny policies in a file of their own. They are about what requests
// ask for, in namespaces and clusters that few of them are in.
func (w *world) deny(n int) (remove func(), err error) {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, `---
apiVersion: breakglass.t-caas.telekom.com/v1alpha1
kind: DenyPolicy
metadata: {name: deny-%d}
spec:
  precedence: %d
  appliesTo: {clusters: ["prod-*", "*"]}
  rules:
    - verbs: [%s, escalate]
      apiGroups: [%q]
      resources: [%s]
      namespaces: {patterns: ["team-%d-*", ns-%d]}
      resourceNames: ["locked-*"]
`, i, i%10, verbs[i%len(verbs)], groups[i%len(groups)], resources[i%len(resources)], i, i)
	}
	file := filepath.Join(w.dir, "deny.yaml")
	return func() { _ = os.Remove(file) }, os.WriteFile(file, []byte(text.String()), 0o644)
}

func (w *world) write(name string, document func(i int) string) error {
	for from := 0; from < w.n; from += w.perFile {
		var text strings.Builder
		for i := from; i < min(from+w.perFile, w.n); i++ {
			text.WriteString("---\n" + document(i))
		}
		file := filepath.Join(w.dir, fmt.Sprintf("%s-%06d.yaml", name, from))
		if err := os.WriteFile(file, []byte(text.String()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) role(i int) string {
	var text strings.Builder
	fmt.Fprintf(&text, "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: role-%d}\nrules:\n", i)
	for range 3 {
		first := w.random.IntN(len(verbs) - 2)
		fmt.Fprintf(&text, "  - verbs: [%s]\n    apiGroups: [%q]\n    resources: [%s, %s]\n",
			strings.Join(verbs[first:first+3], ", "), groups[w.random.IntN(len(groups))],
			resources[w.random.IntN(4)], resources[4+w.random.IntN(4)])
	}
	return text.String()
}

func (w *world) binding(i int) string {
	kind, metadata := "RoleBinding", fmt.Sprintf("{name: binding-%d, namespace: ns-%d}", i, i%max(w.n/10, 1))
	if i%10 == 0 {
		kind, metadata = "ClusterRoleBinding", fmt.Sprintf("{name: binding-%d}", i)
	}
	subject := fmt.Sprintf("{kind: User, apiGroup: rbac.authorization.k8s.io, name: user-%d}", i)
	if i%2 == 1 {
		subject = fmt.Sprintf("{kind: Group, apiGroup: rbac.authorization.k8s.io, name: group-%d}", i%max(w.n/10, 1))
	}
	return fmt.Sprintf(`apiVersion: rbac.authorization.k8s.io/v1
kind: %s
metadata: %s
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: role-%d}
subjects: [%s]
`, kind, metadata, w.random.IntN(w.n), subject)
}

// requests are n requests near what the documents grant, each different.
func (w *world) requests(n int) []decision.Request {
	list := make([]decision.Request, n)
	for i := range list {
		user := w.random.IntN(w.n)
		r := decision.Request{
			User:      fmt.Sprintf("user-%d", user),
			Verb:      verbs[w.random.IntN(len(verbs))],
			APIGroup:  groups[w.random.IntN(len(groups))],
			Resource:  resources[w.random.IntN(len(resources)-1)],
			Namespace: fmt.Sprintf("ns-%d", user%max(w.n/10, 1)),
			Name:      fmt.Sprintf("object-%d", i),
		}
		for range 5 {
			r.Groups = append(r.Groups, fmt.Sprintf("group-%d", w.random.IntN(max(w.n/10, 1))))
		}
		list[i] = r
	}
	return list
}
