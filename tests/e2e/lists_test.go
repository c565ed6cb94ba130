package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/pager"
)

// listed are the documents of TestLists: whom the cluster shows which namespaces. Gil sees all,
// the auditor may act as others.
const listed = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: viewer}
rules: [{apiGroups: [""], resources: [namespaces, secrets], verbs: [get, list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: viewers, namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: viewer}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: ann}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: viewers}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: viewer}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: gil}]
---
apiVersion: breakglass.t-caas.telekom.com/v1alpha1
kind: DenyPolicy
metadata: {name: no-secrets}
spec:
  rules: [{verbs: ["*"], apiGroups: [""], resources: [secrets], namespaces: {selectorTerms: [{matchLabels: {env: prod}}]}}]
`

// more lets ann into another namespace.
const more = `apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: viewers, namespace: shop-test}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: viewer}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: ann}]
`

var accessible = schema.GroupVersionResource{Group: "access.writ.dev", Version: "v1", Resource: "accessiblenamespaces"}

// TestLists lets the API server aggregate the API of writ, as deploy/kustomize/aggregation
// installs it, and asks it with kubectl and client-go.
func TestLists(t *testing.T) {
	c := startControlPlane(t)
	c.kubeconfig(t)
	l := &aggregation{controlPlane: c, front: newAuthority(t, c.dir, "front"), serving: newAuthority(t, c.dir, "serving"), address: freeAddress(t), dir: t.TempDir()}
	proxyCert, proxyKey := l.front.issue(t, "front-proxy")
	c.restart(t, append(slices.Clone(c.Flags), "--requestheader-client-ca-file", l.front.file, "--requestheader-allowed-names", "front-proxy",
		"--requestheader-username-headers", "X-Remote-User", "--requestheader-group-headers", "X-Remote-Group", "--requestheader-extra-headers-prefix", "X-Remote-Extra-",
		"--proxy-client-cert-file", proxyCert, "--proxy-client-key-file", proxyKey))
	for name, labels := range map[string]map[string]string{"shop": {"team": "shop", "env": "prod"}, "shop-test": {"team": "shop"}, "hidden": nil, "writ": nil} {
		l.space(t, name, labels)
	}
	check(t, os.WriteFile(filepath.Join(l.dir, "policies.yaml"), []byte(listed), 0o600))
	l.install(t)
	l.start(t)

	t.Run("the lists of kubectl", l.kubectlLists)
	t.Run("a watch", l.watches)
	t.Run("forged headers", l.forged)
	t.Run("pages", l.pages)
}

type aggregation struct {
	*controlPlane
	front, serving *authority
	address, dir   string
}

func (l *aggregation) space(t *testing.T, name string, labels map[string]string) {
	t.Helper()
	_, err := l.clients.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}, metav1.CreateOptions{})
	check(t, err)
}

// install applies the base of kustomize with an overlay as its comment describes it. Nothing
// runs pods here, so that the Service leads to a process of this machine.
func (l *aggregation) install(t *testing.T) {
	t.Helper()
	_, port, err := net.SplitHostPort(l.address)
	check(t, err)
	authority, err := os.ReadFile(l.serving.file)
	check(t, err)
	base, err := filepath.Abs("../../deploy/kustomize/aggregation")
	check(t, err)
	overlay := t.TempDir()
	base, err = filepath.Rel(overlay, base)
	check(t, err)
	check(t, os.WriteFile(filepath.Join(overlay, "kustomization.yaml"), fmt.Appendf(nil, `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [%s]
transformers:
- |-
  apiVersion: builtin
  kind: NamespaceTransformer
  metadata: {name: namespace, namespace: writ}
  unsetOnly: true
  setRoleBindingSubjects: allServiceAccounts
patches:
- target: {kind: Service}
  patch: |-
    - {op: replace, path: /spec, value: {type: ExternalName, externalName: localhost, ports: [{name: aggregation, port: %[2]s}]}}
- target: {kind: APIService}
  patch: |-
    - {op: replace, path: /spec/service, value: {name: writ, namespace: writ, port: %[2]s}}
    - {op: add, path: /spec/caBundle, value: %s}
`, base, port, base64.StdEncoding.EncodeToString(authority)), 0o600))
	if out, stderr, status := l.kubectl(t, "--context", "admin", "apply", "-k", overlay); status != 0 {
		t.Fatalf("%s%s", out, stderr)
	}
}

// start runs writ with the token of its service account until the API server has its API.
func (l *aggregation) start(t *testing.T) {
	t.Helper()
	hour := int64(3600)
	token, err := l.clients.CoreV1().ServiceAccounts("writ").CreateToken(t.Context(), "writ", &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &hour}}, metav1.CreateOptions{})
	check(t, err)
	l.write(t, "account.yaml", fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://%s", certificate-authority: %q}}]
users: [{name: writ, user: {token: %s}}]
contexts: [{name: c, context: {cluster: c, user: writ}}]
current-context: c
`, l.Address, filepath.Join(l.controlPlane.dir, "certs", "apiserver.crt"), token.Status.Token))
	clusters := l.write(t, "clusters.yaml", []byte("clusters: [{name: prod, kubeconfig: account.yaml, default: true}]\n"))
	cert, key := l.serving.issue(t, "writ", "writ.writ.svc", "localhost")
	process := l.writ(t, "serve", "--listen", "127.0.0.1:0", "--policies", l.dir, "--clusters", clusters, "--tls-cert", cert, "--tls-key", key,
		"--aggregation-listen", l.address, "--requestheader-from-cluster", "--drain", "0s")
	began := time.Now()
	eventually(t, "the API server has the API of writ", func() (bool, string) {
		out, stderr, _ := l.kubectl(t, "--context", "admin", "get", "apiservice", "v1.access.writ.dev", "-o", "jsonpath={.status.conditions}")
		return strings.Contains(out, `"reason":"Passed"`), out + stderr + process.LastLines(3)
	})
	t.Logf("the API server has the API %s after writ started", time.Since(began))
}

// get prints a list as a user sees it by a token of his own.
func (l *aggregation) get(t *testing.T, user string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	return l.kubectl(t, append([]string{"--context", "admin", "--token", "token-of-" + user, "get"}, args...)...)
}

func (l *aggregation) kubectlLists(t *testing.T) {
	for _, row := range []struct {
		name, user string
		args       []string
		want       string
	}{
		{"one's own", "ann", []string{"an", "-o", "name"}, "accessiblenamespace.access.writ.dev/shop\n"},
		{"without a binding", "bob", []string{"an", "-o", "name"}, ""},
		{"by a label of namespaces", "gil", []string{"an", "-l", "team=shop", "-o", "name"}, "accessiblenamespace.access.writ.dev/shop\naccessiblenamespace.access.writ.dev/shop-test\n"},
		{"another question, which a policy denies by the labels of a namespace", "gil", []string{"an", "-l", "team", "--field-selector", "verb=list,resource=secrets", "-o", "name"}, "accessiblenamespace.access.writ.dev/shop-test\n"},
		{"one", "ann", []string{"accessiblenamespaces", "shop", "-o", `jsonpath={.access}`}, `{"apiGroup":"","names":["shop"],"resource":"namespaces","verb":"get"}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			eventually(t, row.name, func() (bool, string) {
				out, stderr, _ := l.get(t, row.user, row.args...)
				return out == row.want, fmt.Sprintf("%q %s", out, stderr)
			})
		})
	}
	if out, _, _ := l.get(t, "ann", "an"); !strings.HasPrefix(out, "NAME ") || !strings.Contains(out, "get namespaces") {
		t.Errorf("a table: got %s", out)
	}
	_, hidden, _ := l.get(t, "ann", "an", "hidden")
	_, absent, _ := l.get(t, "ann", "an", "absent")
	if !strings.Contains(hidden, "NotFound") || strings.ReplaceAll(hidden, "hidden", "absent") != absent {
		t.Errorf("what one may not see, and what is not there: got %q and %q", hidden, absent)
	}
	if _, stderr, status := l.get(t, "ann", "an", "--field-selector", "status.phase=Active"); status != 1 || !strings.Contains(stderr, "BadRequest") {
		t.Errorf("an unknown field: got %d, %s", status, stderr)
	}
	// Who may act as others is asked of the API server.
	out, stderr, _ := l.kubectl(t, "--context", "admin", "get", "an", "-o", "name", "--as", "ann")
	if out != "accessiblenamespace.access.writ.dev/shop\n" {
		t.Errorf("an auditor about ann: got %q, %s", out, stderr)
	}
	if _, stderr, status := l.get(t, "bob", "an", "--as", "ann"); status != 1 || !strings.Contains(stderr, "cannot impersonate") {
		t.Errorf("bob about ann: got %d, %s", status, stderr)
	}
	eventually(t, "kubectl explains the resource", func() (bool, string) { // the API server reads the schemas of others in its own time
		out, stderr, _ := l.kubectl(t, "--context", "admin", "explain", "accessiblenamespaces.access")
		return strings.Contains(out, "names"), out + stderr
	})
}

// asUser returns a client with the token of a user.
func (l *aggregation) asUser(t *testing.T, user string) dynamic.ResourceInterface {
	t.Helper()
	config := rest.CopyConfig(l.Config)
	config.BearerToken, config.Timeout = "token-of-"+user, 0
	client, err := dynamic.NewForConfig(config)
	check(t, err)
	return client.Resource(accessible)
}

// watches follows the list of a user over a reload and a change of namespaces.
func (l *aggregation) watches(t *testing.T) {
	ann := l.asUser(t, "ann")
	first, err := ann.List(t.Context(), metav1.ListOptions{})
	check(t, err)
	w, err := ann.Watch(t.Context(), metav1.ListOptions{ResourceVersion: first.GetResourceVersion()})
	check(t, err)
	defer w.Stop()
	wants := func(what string, kind apiwatch.EventType, name string) {
		t.Helper()
		began := time.Now()
		select {
		case event := <-w.ResultChan():
			object, ok := event.Object.(metav1.Object)
			if event.Type != kind || !ok || object.GetName() != name {
				t.Fatalf("%s: got %s %v", what, event.Type, event.Object)
			}
			t.Logf("%s: %s after %s", what, kind, time.Since(began))
		case <-time.After(patience):
			t.Fatalf("%s: no event", what)
		}
	}
	check(t, os.WriteFile(filepath.Join(l.dir, "more.yaml"), []byte(more), 0o600))
	wants("a binding more", apiwatch.Added, "shop-test")
	patch := func(name, labels string) {
		t.Helper()
		_, err := l.clients.CoreV1().Namespaces().Patch(t.Context(), name, "application/merge-patch+json", []byte(`{"metadata":{"labels":`+labels+`}}`), metav1.PatchOptions{})
		check(t, err)
	}
	patch("shop", `{"tier":"gold"}`)
	wants("a label more", apiwatch.Modified, "shop")
	patch("hidden", `{"tier":"gold"}`) // which ann may not see
	check(t, os.Remove(filepath.Join(l.dir, "more.yaml")))
	wants("a binding less", apiwatch.Deleted, "shop-test")
}

// forged sends the headers of the API server without being it.
func (l *aggregation) forged(t *testing.T) {
	other := newAuthority(t, t.TempDir(), "other")
	trusted, err := os.ReadFile(l.serving.file)
	check(t, err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(trusted)
	status := func(certificate, key string, header http.Header) int {
		t.Helper()
		config := &tls.Config{RootCAs: pool}
		if certificate != "" {
			pair, err := tls.LoadX509KeyPair(certificate, key)
			check(t, err)
			// A client chooses among its certificates by what the server asks for; it is to be sent in any case.
			config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
		}
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: config}, Timeout: patience}
		defer client.CloseIdleConnections()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+strings.Replace(l.address, "127.0.0.1", "localhost", 1)+"/apis/access.writ.dev/v1/accessiblenamespaces", nil)
		check(t, err)
		request.Header = header
		response, err := client.Do(request)
		check(t, err)
		defer response.Body.Close()
		_, _ = io.Copy(io.Discard, response.Body)
		return response.StatusCode
	}
	gil := http.Header{"X-Remote-User": {"gil"}, "X-Remote-Group": {"system:authenticated"}}
	otherCert, otherKey := other.issue(t, "front-proxy")
	nameCert, nameKey := l.front.issue(t, "metrics-server")
	proxyCert, proxyKey := l.front.issue(t, "front-proxy")
	for _, row := range []struct {
		name, cert, key string
		header          http.Header
		want            int
	}{
		{"without a certificate", "", "", gil, http.StatusUnauthorized},
		{"with a token", "", "", http.Header{"X-Remote-User": {"gil"}, "Authorization": {"Bearer token-of-ann"}}, http.StatusUnauthorized},
		{"with the certificate of another authority", otherCert, otherKey, gil, http.StatusUnauthorized},
		{"with another name", nameCert, nameKey, gil, http.StatusUnauthorized},
		{"of the API server, without a user", proxyCert, proxyKey, nil, http.StatusUnauthorized},
		{"of the API server", proxyCert, proxyKey, gil, http.StatusOK},
	} {
		if got := status(row.cert, row.key, row.header); got != row.want {
			t.Errorf("%s: got %d, want %d", row.name, got, row.want)
		}
	}

	// The API server removes such headers of a user before it adds its own.
	config := rest.CopyConfig(l.Config)
	config.BearerToken = "token-of-ann"
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			r = r.Clone(r.Context())
			r.Header.Set("X-Remote-User", "gil")
			r.Header.Set("X-Remote-Group", "system:masters")
			return next.RoundTrip(r)
		})
	})
	client, err := dynamic.NewForConfig(config)
	check(t, err)
	list, err := client.Resource(accessible).List(t.Context(), metav1.ListOptions{})
	check(t, err)
	if len(list.Items) != 1 || list.Items[0].GetName() != "shop" {
		t.Errorf("through the API server: got %v", list.Items)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

// many is how many namespaces a list in pages has, beside those that every cluster has.
const many = 2500

// pages reads a list of many namespaces while more are made: all pages are of one list.
func (l *aggregation) pages(t *testing.T) {
	parallel(t, many, func(i int) error {
		_, err := l.clients.CoreV1().Namespaces().Create(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("many-%04d", i)}}, metav1.CreateOptions{})
		return err
	})
	all, err := l.clients.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	check(t, err)
	gil := l.asUser(t, "gil")
	eventually(t, "all namespaces are listed", func() (bool, string) {
		list, err := gil.List(t.Context(), metav1.ListOptions{})
		check(t, err)
		return len(list.Items) == len(all.Items), fmt.Sprint(len(list.Items), len(all.Items))
	})
	var names []string
	pages := 0
	p := pager.New(pager.SimplePageFunc(func(o metav1.ListOptions) (r runtime.Object, err error) {
		if pages++; pages == 2 {
			l.space(t, "many-later", nil)
		}
		return gil.List(t.Context(), o)
	}))
	p.PageSize, p.FullListIfExpired = 500, false
	began := time.Now()
	check(t, p.EachListItem(t.Context(), metav1.ListOptions{}, func(o runtime.Object) error {
		names = append(names, o.(metav1.Object).GetName())
		return nil
	}))
	t.Logf("%d namespaces in %d pages after %s", len(names), pages, time.Since(began))
	if len(names) != len(all.Items) || !slices.IsSorted(names) || slices.Contains(names, "many-later") || pages < many/500 {
		t.Errorf("got %d names in %d pages, want %d", len(names), pages, len(all.Items))
	}
	out, stderr, status := l.get(t, "gil", "an", "-o", "name", "--chunk-size", "500")
	if got := strings.Count(out, "\n"); status != 0 || got != len(all.Items)+1 {
		t.Errorf("kubectl: got %d names, want %d: %s", got, len(all.Items)+1, stderr)
	}
}
