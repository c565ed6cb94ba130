package e2e

import (
	"crypto/ecdsa"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const rbacAPI = "rbac.authorization.k8s.io"

// certain are the edges that need nothing but their requests, with how each is carried out.
var certain = map[string]func(*walk, *testing.T, *hop) error{
	"pod-create": (*walk).createPod, "workload-create": (*walk).createWorkload, "token": (*walk).requestToken, "secret-mint": (*walk).mint,
	"impersonate": (*walk).impersonate, "csr": (*walk).certificate, "bind": (*walk).writeDocument, "escalate": (*walk).writeDocument,
}

// TestReach carries out the certain paths of random documents on an API server that has them,
// with certificates and tokens of the identities. A path that does not work is one that writ
// reports wrongly.
func TestReach(t *testing.T) {
	c := startControlPlane(t)
	r := &reached{controlPlane: c, signer: newAuthority(t, c.dir, "clients"), hops: make(map[string]int)}
	c.restart(t, append(slices.Clone(c.Flags), "--client-ca-file", r.signer.file, "--feature-gates", "ConstrainedImpersonation=true"))
	worlds := effort(20)
	for n := range worlds {
		r.world(t, n)
	}
	t.Logf("%d random revisions, %d paths, hops by edge: %v", worlds, r.paths, r.hops)
	for _, edge := range slices.Sorted(maps.Keys(certain)) {
		if r.hops[edge] == 0 && !t.Failed() {
			t.Errorf("no hop by %s was carried out", edge)
		}
	}
}

// reached carries out what writ reach reports.
type reached struct {
	*controlPlane
	signer *authority
	hops   map[string]int
	paths  int
}

// identity is who a path begins with, or what a hop leads to.
type identity struct {
	User   string
	Groups []string
	Acting *struct{ Mode string }
}

type hop struct {
	Edge     string
	As       identity
	Requests []struct{ Verb, APIGroup, Resource, Subresource, Namespace, Name string }
	Becomes  *identity
	Adds     []map[string]any
	Text     string
}

// world writes random documents, and carries out each path of which no hop is less than certain.
func (r *reached) world(t *testing.T, n int) {
	t.Helper()
	m := escalating{rand.New(rand.NewPCG(uint64(n), 33)), fmt.Sprintf("w%d-", n)}
	documents := m.documents()
	dir := t.TempDir()
	for _, namespace := range []string{"a", "b"} {
		_, err := r.clients.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: m.prefix + namespace}}, metav1.CreateOptions{})
		check(t, err)
		for _, account := range []string{"default", "robot"} {
			_, err := r.clients.CoreV1().ServiceAccounts(m.prefix+namespace).Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account}}, metav1.CreateOptions{})
			check(t, err)
		}
	}
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": documents})
	check(t, err)
	check(t, os.WriteFile(filepath.Join(dir, "all.json"), text, 0o600))
	for _, d := range documents {
		check(t, r.restore(t, d, d))
	}
	for _, targets := range [][]string{nil, {"--to", "any"}} {
		args := append([]string{"reach", dir, "--class", "certain", "--git-only", "--paths", "1", "-o", "json"}, targets...)
		stdout, stderr, status := r.run(t, "", args...)
		var report struct {
			Paths []struct {
				From identity
				To   string
				Hops []*hop
			}
		}
		if err := json.Unmarshal([]byte(stdout), &report); err != nil || status != 0 {
			t.Fatalf("writ reach: %d, %v, %s", status, err, stderr)
		}
		for _, p := range report.Paths {
			if strings.HasPrefix(p.From.User, "system:serviceaccount:") && !strings.HasPrefix(p.From.User, "system:serviceaccount:"+m.prefix) {
				continue // of an account that documents of every cluster name
			}
			r.paths++
			w := &walk{reached: r, prefix: m.prefix, config: r.credentials(t, p.From)}
			err := w.follow(t, p.Hops)
			if err == nil {
				err = w.arrived(t, p.To)
			}
			if err != nil {
				t.Errorf("world %d, from %v to %s: %v", n, p.From, p.To, err)
			}
			for _, d := range slices.Backward(w.written) {
				check(t, r.restore(t, d.is, d.was))
			}
		}
	}
}

// restore makes an object what it is to be, which is nil for none.
func (r *reached) restore(t *testing.T, object, to map[string]any) error {
	t.Helper()
	d := &unstructured.Unstructured{Object: object}
	objects := r.objects.Resource(schema.GroupVersionResource{Group: rbacAPI, Version: "v1", Resource: strings.ToLower(d.GetKind()) + "s"}).Namespace(d.GetNamespace())
	if err := objects.Delete(t.Context(), d.GetName(), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	if to == nil {
		return nil
	}
	_, err := objects.Create(t.Context(), &unstructured.Unstructured{Object: to}, metav1.CreateOptions{})
	return err
}

// credentials returns a client's configuration with the certificate or token of an identity. A
// group is one that a user without a binding has.
func (r *reached) credentials(t *testing.T, i identity) *rest.Config {
	t.Helper()
	if namespace, name, ok := accountOf(i.User); ok {
		return r.withToken(r.token(t, namespace, name))
	}
	user := i.User
	if user == "" {
		user = "member"
	}
	return r.withCertificate(t, user, i.Groups, newKey(t))
}

// withCertificate returns a configuration with a certificate that the test signs.
func (r *reached) withCertificate(t *testing.T, user string, groups []string, key *ecdsa.PrivateKey) *rest.Config {
	t.Helper()
	config := rest.CopyConfig(r.Config)
	config.BearerToken, config.CertData, config.KeyData = "", r.signer.client(t, user, stated(groups), &key.PublicKey), encodedKey(t, key)
	return config
}

// stated returns the groups that a certificate states: the API server adds the other one.
func stated(groups []string) []string {
	return slices.DeleteFunc(slices.Clone(groups), func(g string) bool { return g == "system:authenticated" })
}

func accountOf(user string) (namespace, name string, ok bool) {
	account, ok := strings.CutPrefix(user, "system:serviceaccount:")
	namespace, name, _ = strings.Cut(account, ":")
	return namespace, name, ok
}

// token is what the API server gives to the kubelet and to the controller of token Secrets,
// neither of which runs here.
func (r *reached) token(t *testing.T, namespace, name string) string {
	t.Helper()
	request, err := r.clients.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), name, new(authenticationv1.TokenRequest), metav1.CreateOptions{})
	check(t, err)
	return request.Status.Token
}

func (r *reached) withToken(token string) *rest.Config {
	config := rest.CopyConfig(r.Config)
	config.BearerToken = token
	return config
}

// arrived checks that the last identity of a path is at its target.
func (w *walk) arrived(t *testing.T, target string) error {
	clients, err := kubernetes.NewForConfig(w.config)
	check(t, err)
	namespace, isNamespace := strings.CutPrefix(target, "namespace-admin:")
	if target != "cluster-admin" && !isNamespace {
		if w.mode != "" && w.mode != "legacy" {
			return nil // it may not ask who it is, unless it is granted that
		}
		review, err := clients.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), new(authenticationv1.SelfSubjectReview), metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("ask who it is: %w", err)
		}
		is := review.Status.UserInfo
		kind, name, _ := strings.Cut(target, ":")
		if kind == "user" && is.Username == name || kind == "group" && slices.Contains(is.Groups, name) {
			return nil
		}
		return fmt.Errorf("the last hop leads to %s with %v", is.Username, is.Groups)
	}
	return w.retried(func() error {
		review, err := clients.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "*", Group: "*", Resource: "*", Namespace: namespace}},
		}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		if !review.Status.Allowed {
			return fmt.Errorf("it may not do everything in %q: %s", namespace, review.Status.Reason)
		}
		return nil
	})
}

// escalating makes small revisions in which subjects become others by what is certain.
type escalating struct {
	*rand.Rand
	prefix string
}

func (m escalating) pick(from ...string) string { return from[m.IntN(len(from))] }

func (m escalating) rule() map[string]any {
	rule := func(group, resource string, verbs ...string) map[string]any {
		return map[string]any{"apiGroups": []string{group}, "resources": []string{resource}, "verbs": verbs}
	}
	named := func(r map[string]any, names ...string) map[string]any {
		if m.IntN(2) == 0 {
			r["resourceNames"] = []string{m.pick(names...)}
		}
		return r
	}
	switch m.IntN(13) {
	case 0:
		return rule("", "pods", m.pick("create", "*"))
	case 1:
		return rule("apps", m.pick("deployments", "statefulsets", "daemonsets", "replicasets"), "create")
	case 2:
		return rule("batch", m.pick("jobs", "cronjobs"), "create")
	case 3:
		return named(rule("", "serviceaccounts/token", "create"), "robot", "default")
	case 4:
		return rule("", "secrets", "create", m.pick("get", "list", "watch"))
	case 5:
		return named(rule("", "users", "impersonate"), m.prefix+"u0", m.prefix+"u1")
	case 6:
		return map[string]any{"apiGroups": []string{""}, "resources": []string{"users", "groups"}, "verbs": []string{"impersonate"}}
	case 7:
		return rule("", "serviceaccounts", "impersonate")
	case 8:
		return map[string]any{"apiGroups": []string{"authentication.k8s.io"}, "resources": []string{"users", "groups", "serviceaccounts"},
			"verbs": []string{m.pick("impersonate:user-info", "impersonate:serviceaccount")}}
	case 9:
		return rule("*", "*", m.pick("impersonate-on:user-info:create", "impersonate-on:serviceaccount:create"))
	case 10:
		return map[string]any{"apiGroups": []string{"certificates.k8s.io"},
			"resources": []string{"certificatesigningrequests", "certificatesigningrequests/approval", "signers"}, "verbs": []string{"create", "update", "approve"}}
	case 11:
		return map[string]any{"apiGroups": []string{rbacAPI}, "resources": []string{m.pick("rolebindings", "clusterrolebindings"), "clusterroles", "roles"}, "verbs": []string{m.pick("create", "update", "patch"), "bind"}}
	}
	return map[string]any{"apiGroups": []string{rbacAPI}, "resources": []string{"roles", "clusterroles"}, "verbs": []string{m.pick("create", "update", "patch"), "escalate"}}
}

func (m escalating) documents() (out []map[string]any) {
	for i := range 5 {
		name := fmt.Sprintf("%sr%d", m.prefix, i)
		out = append(out, map[string]any{"apiVersion": rbacAPI + "/v1", "kind": "ClusterRole", "metadata": map[string]any{"name": name}, "rules": []any{m.rule(), m.rule()}})
		kind, metadata := "ClusterRoleBinding", map[string]any{"name": "of-" + name}
		if m.IntN(2) == 0 {
			kind, metadata["namespace"] = "RoleBinding", m.prefix+m.pick("a", "b")
		}
		subject := map[string]any{"kind": "ServiceAccount", "namespace": m.prefix + m.pick("a", "b"), "name": "robot"}
		switch m.IntN(3) {
		case 0:
			subject = map[string]any{"kind": "User", "apiGroup": rbacAPI, "name": m.prefix + m.pick("u0", "u1")}
		case 1:
			subject = map[string]any{"kind": "Group", "apiGroup": rbacAPI, "name": m.prefix + "g0"}
		}
		out = append(out, map[string]any{"apiVersion": rbacAPI + "/v1", "kind": kind, "metadata": metadata,
			"roleRef": map[string]any{"apiGroup": rbacAPI, "kind": "ClusterRole", "name": name}, "subjects": []any{subject}})
	}
	return out
}
