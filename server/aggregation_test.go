package server

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// world is an API server that has namespaces, and what it publishes about its front proxy.
type world struct {
	mu      sync.Mutex
	labels  map[string]map[string]string
	events  []string
	changed chan struct{}
	trust   map[string]string
	ended   chan struct{} // closed when nothing is answered any more
}

func newWorld(names ...string) *world {
	w := &world{labels: map[string]map[string]string{}, changed: make(chan struct{}), ended: make(chan struct{})}
	for _, name := range names {
		w.set(name, map[string]string{"team": name[:1]})
	}
	return w
}

func (w *world) object(name string) string {
	labels, _ := json.Marshal(w.labels[name])
	return fmt.Sprintf(`{"kind":"Namespace","apiVersion":"v1","metadata":{"name":%q,"creationTimestamp":"2020-01-02T03:04:05Z","resourceVersion":"%d","labels":%s}}`, name, len(w.events)+1, labels)
}

// set adds or changes a namespace; without labels it removes it.
func (w *world) set(name string, labels map[string]string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	what := "ADDED"
	if w.labels[name] != nil {
		what = "MODIFIED"
	}
	if labels == nil {
		what = "DELETED"
	} else {
		w.labels[name] = labels
	}
	w.events = append(w.events, fmt.Sprintf(`{"type":%q,"object":%s}`, what, w.object(name)))
	if labels == nil {
		delete(w.labels, name)
	}
	close(w.changed)
	w.changed = make(chan struct{})
}

// since returns the events after a number of them, and what is closed when there are more.
func (w *world) since(n int) ([]string, chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.events[n:], w.changed
}

func (w *world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	rw.Header().Set("Content-Type", "application/json")
	query := r.URL.Query()
	switch {
	case r.URL.Path == "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication":
		w.mu.Lock()
		defer w.mu.Unlock()
		_ = json.NewEncoder(rw).Encode(map[string]any{"kind": "ConfigMap", "apiVersion": "v1", "data": w.trust})
	case r.URL.Path != "/api/v1/namespaces":
		rw.WriteHeader(http.StatusNotFound)
	case query.Get("sendInitialEvents") != "":
		rw.WriteHeader(http.StatusUnprocessableEntity) // an API server that cannot
		fmt.Fprint(rw, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`)
	case query.Get("watch") == "":
		w.mu.Lock()
		defer w.mu.Unlock()
		var items []string
		for _, name := range slices.Sorted(maps.Keys(w.labels)) {
			items = append(items, w.object(name))
		}
		fmt.Fprintf(rw, `{"kind":"NamespaceList","apiVersion":"v1","metadata":{"resourceVersion":"%d"},"items":[%s]}`, len(w.events), strings.Join(items, ","))
	default:
		sent, _ := strconv.Atoi(query.Get("resourceVersion"))
		for {
			events, changed := w.since(sent)
			for _, event := range events {
				fmt.Fprintln(rw, event)
			}
			rw.(http.Flusher).Flush()
			sent += len(events)
			select {
			case <-changed:
			case <-w.ended:
				return
			case <-r.Context().Done():
				return
			}
		}
	}
}

const spacesKubeconfig = `apiVersion: v1
kind: Config
current-context: c
clusters: [{name: c, cluster: {server: "URL"}}]
contexts: [{name: c, context: {cluster: c}}]
`

// reader lets alice get the namespaces a and b, and list the pods of b; vera gets all but those
// with the label team=s.
const reader = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules: [{apiGroups: [""], resources: [namespaces], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: pods}
rules: [{apiGroups: [""], resources: [pods], verbs: [list], resourceNames: [web-0, web-1]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: r, namespace: a}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: alice}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: r, namespace: b}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: devs}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: p, namespace: b}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: pods}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: alice}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: r}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: vera}]
---
apiVersion: breakglass.t-caas.telekom.com/v1alpha1
kind: DenyPolicy
metadata: {name: secret}
spec: {rules: [{verbs: [get], apiGroups: [""], resources: [namespaces], namespaces: {selectorTerms: [{matchLabels: {team: s}}]}}]}
`

// aggregatedServer is a server with a listener for an API server.
type aggregatedServer struct {
	*running
	house *house
	world *world
	proxy *authority
	at    string // the listener
	front *tls.Config
	// transport is one of the API server's certificate.
	transport func() *http.Transport
}

func newAggregatedServer(t *testing.T, w *world, configure func(*house)) *aggregatedServer {
	h := newHouse(t)
	a := &aggregatedServer{house: h, world: w, proxy: newAuthority(t)}
	api := httptest.NewServer(w)
	t.Cleanup(func() {
		close(w.ended)
		api.Close()
	})
	h.write("kubeconfig", strings.ReplaceAll(spacesKubeconfig, "URL", api.URL))
	c := &h.config
	c.Clusters.File = h.write("clusters.yaml", "clusters: [{name: c, kubeconfig: kubeconfig, default: true}]\n")
	cert, key := a.proxy.issue(3)
	c.TLS.Cert, c.TLS.Key = h.write("tls.crt", cert), h.write("tls.key", key)
	c.Aggregation.Listen = "127.0.0.1:0"
	c.Aggregation.ClientCA, c.Aggregation.AllowedNames = h.write("proxy.crt", a.proxy.pem), []string{"front-proxy"}
	h.write("policies/reader.yaml", reader)
	if configure != nil {
		configure(h)
	}
	at := make(chan net.Addr, 1)
	c.Aggregation.Listening = func(address net.Addr) { at <- address }
	a.running = h.run()
	a.at = "https://" + (<-at).String()
	a.front = a.proxy.client("front-proxy")
	a.transport = sync.OnceValue(func() *http.Transport {
		transport := &http.Transport{TLSClientConfig: a.front.Clone(), ForceAttemptHTTP2: true}
		t.Cleanup(transport.CloseIdleConnections)
		return transport
	})
	return a
}

// as returns the headers in which an API server names a user.
func as(user string, groups ...string) http.Header {
	return http.Header{"X-Remote-User": {user}, "X-Remote-Group": append([]string{"system:authenticated"}, groups...)}
}

func (a *aggregatedServer) send(t *testing.T, config *tls.Config, header http.Header, method, url string) (int, []byte) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config.Clone(), ForceAttemptHTTP2: true}}
	defer client.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = header
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, body
}

// answer is a list, a table, an object or a Status.
type answer struct {
	Kind, APIVersion, Reason string
	Metadata                 struct {
		Name, ResourceVersion, Continue, CreationTimestamp string
		RemainingItemCount                                 int
		Labels, Annotations                                map[string]string
	}
	Access            struct{ Names, Verb, Resource, APIGroup any }
	Items             []answer
	ColumnDefinitions []struct{ Name string }
	Rows              []struct {
		Cells  []any
		Object answer
	}
}

func (x *answer) names() (names []string) {
	for _, i := range x.Items {
		names = append(names, i.Metadata.Name)
	}
	return names
}

const resourcePath = "/apis/access.writ.dev/v1/accessiblenamespaces"

// get asks for something below the resource as a user.
func (a *aggregatedServer) get(t *testing.T, header http.Header, below string, accept ...string) (int, answer) {
	t.Helper()
	header = header.Clone()
	header["Accept"] = accept
	status, body := a.send(t, a.front, header, http.MethodGet, a.at+resourcePath+below)
	var x answer
	if err := json.Unmarshal(body, &x); err != nil {
		t.Fatalf("%s: %v: %s", below, err, body)
	}
	return status, x
}

// until asks for a list until it has these names.
func (a *aggregatedServer) until(t *testing.T, header http.Header, query string, want ...string) (last answer) {
	t.Helper()
	a.eventually(fmt.Sprintf("a list of %v", want), func() bool {
		_, last = a.get(t, header, query)
		return slices.Equal(last.names(), want)
	})
	return last
}

// event is an event of a watch.
type event struct {
	Type   string
	Object answer
}

func (e event) String() string {
	return strings.TrimSpace(e.Type + " " + cmp.Or(e.Object.Metadata.Name, e.Object.Reason))
}

// watch returns the events of a watch, until the test is over.
func (a *aggregatedServer) watch(t *testing.T, header http.Header, query url.Values, accept ...string) (<-chan event, context.CancelFunc) {
	t.Helper()
	query.Set("watch", "true")
	ctx, cancel := context.WithCancel(t.Context())
	client := &http.Client{Transport: a.transport()}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, a.at+resourcePath+"?"+query.Encode(), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = header.Clone()
	r.Header["Accept"] = accept
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	events := make(chan event)
	t.Cleanup(func() {
		cancel()
		response.Body.Close()
	})
	go func() {
		defer close(events)
		if response.StatusCode != http.StatusOK {
			events <- event{Type: response.Status}
			return
		}
		lines := bufio.NewScanner(response.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var e event
			if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
				e.Type = err.Error()
			}
			select {
			case events <- e:
			case <-ctx.Done():
				return
			}
		}
	}()
	return events, cancel
}

// wantsAny reads an event.
func wantsAny(t *testing.T, events <-chan event) event {
	t.Helper()
	select {
	case e, ok := <-events:
		if !ok {
			t.Fatal("the watch has ended")
		}
		return e
	case <-time.After(2 * patience):
		t.Fatal("got no event")
	}
	return event{}
}

// wants reads events, and returns the last one.
func wants(t *testing.T, events <-chan event, want ...string) (last event) {
	t.Helper()
	for _, next := range want {
		if last = wantsAny(t, events); last.String() != next {
			t.Fatalf("got event %q, want %q", last, next)
		}
	}
	return last
}

func TestAggregatedCallers(t *testing.T) {
	a := newAggregatedServer(t, newWorld("a", "b", "c"), func(h *house) {
		h.config.Callers.Tokens = h.write("tokens.csv", "t,alice,1\n")
		h.config.TLS.ClientCA = h.config.Aggregation.ClientCA // callers' certificates are of the same authority
	})
	alice := as("alice")
	a.until(t, alice, "", "a")
	stranger := newAuthority(t).client("front-proxy")
	stranger.RootCAs = a.front.RootCAs
	twice := as("alice")
	twice["X-Remote-User"] = []string{"alice", "vera"}
	token := as("alice")
	token.Set("Authorization", "Bearer t")
	for _, row := range []struct {
		name   string
		config *tls.Config
		header http.Header
		status int
	}{
		{"the API server", a.front, alice, 200},
		{"the API server, with a header of the user's", a.front, token, 200},
		{"no certificate", a.proxy.client(""), alice, 401},
		{"no certificate, a token", a.proxy.client(""), token, 401},
		{"another authority", stranger, alice, 401},
		{"another name", a.proxy.client("alice"), alice, 401},
		{"an old certificate", a.proxy.expired("front-proxy"), alice, 401},
		{"no user", a.front, http.Header{"X-Remote-Group": {"system:masters"}}, 401},
		{"an empty user", a.front, as(""), 401},
		{"two users", a.front, twice, 401},
		{"another header", a.front, http.Header{"X-User": {"alice"}}, 401},
	} {
		for _, path := range []string{resourcePath, resourcePath + "/a", "/apis", "/apis/access.writ.dev", "/apis/access.writ.dev/v1", "/openapi/v2", "/openapi/v3", "/openapi/v3/apis/access.writ.dev/v1", "/version", "/healthz", "/readyz"} {
			status, body := a.send(t, row.config, row.header, http.MethodGet, a.at+path)
			if status != row.status || status != 200 && strings.TrimSpace(string(body)) != `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"the request needs a caller the server can authenticate","reason":"Unauthorized","code":401}` {
				t.Errorf("%s: %s: got %d %s, want %d", row.name, path, status, body, row.status)
			}
		}
	}
	// The headers count at no other listener, not even with the certificate.
	status, body := a.send(t, a.front, as("vera"), http.MethodGet, a.url+"/v1/lists/namespaces?verb=get")
	if !strings.Contains(string(body), `"user":"front-proxy"`) || status != 200 {
		t.Errorf("at the listener of callers: got %d %s", status, body)
	}
	for path, method := range map[string]string{resourcePath: http.MethodPost, resourcePath + "/a": http.MethodDelete, "/nothing": http.MethodGet, "/v1/decisions/access": http.MethodPost} {
		if status, body := a.send(t, a.front, alice, method, a.at+path); status != 404 && status != 405 || !strings.Contains(string(body), `"kind":"Status"`) {
			t.Errorf("%s %s: got %d %s", method, path, status, body)
		}
	}
}

func TestAggregatedObjects(t *testing.T) {
	a := newAggregatedServer(t, newWorld("a", "b", "c", "s"), nil)
	alice, dev, vera := as("alice"), as("alice", "devs"), as("vera")
	list := a.until(t, alice, "", "a")
	if got := list.Items[0]; list.Kind != "AccessibleNamespaceList" || got.Kind != "AccessibleNamespace" || got.APIVersion != "access.writ.dev/v1" ||
		got.Metadata.Labels["team"] != "a" || got.Metadata.CreationTimestamp != "2020-01-02T03:04:05Z" || got.Metadata.ResourceVersion == "" || got.Access.Verb != "get" || got.Access.Resource != "namespaces" {
		t.Errorf("got %+v", list)
	}
	if again := a.until(t, alice, "", "a"); again.Metadata.ResourceVersion != list.Metadata.ResourceVersion {
		t.Error("the same list has another resourceVersion")
	}
	a.until(t, dev, "", "a", "b")
	a.until(t, vera, "", "a", "b", "c") // a denial by a label counts
	for query, want := range map[string]string{
		"?labelSelector=team%3Db":                                     "b",
		"?labelSelector=team+in+(a,c)":                                "a c",
		"?labelSelector=%21team":                                      "",
		"?labelSelector=team%3Da,team%3Db":                            "",
		"?fieldSelector=metadata.name%3Dc":                            "c",
		"?fieldSelector=metadata.name%3Ds":                            "",
		"?fieldSelector=verb%3Dget":                                   "a b c",
		"?fieldSelector=verb%3Dget,resource%3Dnamespaces,apiGroup%3D": "a b c",
		"?fieldSelector=verb%3Dlist,resource%3Dpods":                  "",
		"?resourceVersion=0&limit=500":                                "a b c",
	} {
		if status, x := a.get(t, vera, query); status != 200 || strings.Join(x.names(), " ") != want {
			t.Errorf("%s: got %d %v, want %q", query, status, x.names(), want)
		}
	}
	if _, x := a.get(t, alice, "?fieldSelector=verb%3Dlist,resource%3Dpods"); len(x.Items) != 1 || fmt.Sprint(x.Items[0].Access.Names) != "[web-0 web-1]" {
		t.Errorf("got %+v", x)
	}
	for query, want := range map[string]int{
		"?fieldSelector=spec%3Da": 400, "?fieldSelector=verb%21%3Dget": 400, "?fieldSelector=verb%3D": 400, "?fieldSelector=verb%3Dget,verb%3Dlist": 400,
		"?fieldSelector=resource%3Da/b": 400, "?labelSelector=%3D%3D": 400, "?limit=-1": 400, "?limit=x": 400, "?a=%zz": 400, "?includeObject=x": 400,
		"?resourceVersionMatch=Exact": 422, "?resourceVersion=5&resourceVersionMatch=Exact": 410, "?continue=x": 410, "?sendInitialEvents=true": 422,
	} {
		if status, x := a.get(t, vera, query); status != want || x.Kind != "Status" {
			t.Errorf("%s: got %d %+v, want %d", query, status, x, want)
		}
	}
	status, x := a.get(t, vera, "/a")
	if status != 200 || x.Metadata.Name != "a" || x.Kind != "AccessibleNamespace" {
		t.Errorf("got %d %+v", status, x)
	}
	_, denied := a.send(t, a.front, vera, http.MethodGet, a.at+resourcePath+"/s")
	_, missing := a.send(t, a.front, vera, http.MethodGet, a.at+resourcePath+"/x")
	if string(denied) != strings.ReplaceAll(string(missing), `\"x\"`, `\"s\"`) || !strings.Contains(string(denied), `"reason":"NotFound"`) {
		t.Errorf("what is denied and what is not there differ: %s %s", denied, missing)
	}
	two := as("alice")
	two["X-Remote-Extra-"+http.CanonicalHeaderKey(url.PathEscape(a.house.config.Clusters.SessionKey))] = []string{"s", "t"}
	if status, _ := a.get(t, two, ""); status != 400 {
		t.Errorf("two sessions: got %d", status)
	}
}

func TestAggregatedForms(t *testing.T) {
	a := newAggregatedServer(t, newWorld("a", "b"), nil)
	vera := as("vera")
	a.until(t, vera, "", "a", "b")
	const table, part = "application/json;as=Table;v=v1;g=meta.k8s.io", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	_, x := a.get(t, vera, "", table+",application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json")
	if x.Kind != "Table" || len(x.ColumnDefinitions) != 3 || len(x.Rows) != 2 || fmt.Sprint(x.Rows[1].Cells[:2]) != "[b get namespaces]" || x.Rows[1].Object.Kind != "PartialObjectMetadata" || x.Rows[1].Object.Metadata.Name != "b" {
		t.Errorf("got %+v", x)
	}
	if _, x = a.get(t, vera, "?includeObject=Object", table); x.Rows[0].Object.Kind != "AccessibleNamespace" {
		t.Errorf("got %+v", x)
	}
	if _, x = a.get(t, vera, "?includeObject=None", table); x.Rows[0].Object.Kind != "" {
		t.Errorf("got %+v", x)
	}
	if _, x = a.get(t, vera, "", part); x.Kind != "PartialObjectMetadataList" || x.Items[0].Kind != "PartialObjectMetadata" || x.Items[0].Metadata.Labels["team"] != "a" {
		t.Errorf("got %+v", x)
	}
	if _, x = a.get(t, vera, "/b", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"); x.Kind != "PartialObjectMetadata" {
		t.Errorf("got %+v", x)
	}
	for accept, want := range map[string]string{
		"application/vnd.kubernetes.protobuf,application/json": "AccessibleNamespaceList", "*/*": "AccessibleNamespaceList", "application/cbor, */*;q=0.1": "AccessibleNamespaceList",
		"application/vnd.kubernetes.protobuf": "NotAcceptable", "application/cbor": "NotAcceptable", "application/json;q=0": "NotAcceptable", "application/json;as=Other": "NotAcceptable",
	} {
		if _, x := a.get(t, vera, "", accept); cmp.Or(x.Reason, x.Kind) != want {
			t.Errorf("%s: got %+v, want %s", accept, x, want)
		}
	}
	const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	for accept, want := range map[string]int{aggregated: 406, aggregated + ",application/json": 200, "": 200, "application/com.github.proto-openapi.spec.v2@v1.0+protobuf": 406} {
		header := as("vera")
		header.Set("Accept", accept)
		if status, _ := a.send(t, a.front, header, http.MethodGet, a.at+"/apis"); status != want {
			t.Errorf("%s: got %d, want %d", accept, status, want)
		}
	}
}

func TestAggregatedPages(t *testing.T) {
	var names []string
	for i := range 2500 {
		names = append(names, fmt.Sprintf("n%04d", i))
	}
	a := newAggregatedServer(t, newWorld(names...), nil)
	vera := as("vera")
	var x answer
	a.eventually("a page", func() bool {
		_, x = a.get(t, vera, "?limit=500")
		return len(x.Items) == 500
	})
	version, first := x.Metadata.ResourceVersion, x.Metadata.Continue
	got := x.names()
	a.world.set("n0000", nil) // pages are of one list
	for x.Metadata.Continue != "" {
		if left := 2500 - len(got); x.Metadata.RemainingItemCount != left {
			t.Errorf("got %d as the rest, want %d", x.Metadata.RemainingItemCount, left)
		}
		status, next := a.get(t, vera, "?limit=500&continue="+url.QueryEscape(x.Metadata.Continue))
		if status != 200 || next.Metadata.ResourceVersion != version {
			t.Fatalf("got %d %+v", status, next.Metadata)
		}
		got, x = append(got, next.names()...), next
	}
	if !slices.Equal(got, names) {
		t.Errorf("the pages have %d namespaces", len(got))
	}
	for name, row := range map[string]struct {
		header http.Header
		query  string
	}{
		"another user": {as("alice"), "?continue="}, "another group": {as("vera", "x"), "?continue="},
		"another question": {vera, "?labelSelector=a&continue="},
	} {
		if status, x := a.get(t, row.header, row.query+url.QueryEscape(first)); status != 410 || x.Reason != "Expired" {
			t.Errorf("%s: got %d %+v", name, status, x)
		}
	}
}

func TestAggregatedMaxAge(t *testing.T) {
	a := newAggregatedServer(t, newWorld("a"), func(h *house) { h.config.Limits.MaxAge = time.Millisecond })
	alice := as("alice")
	a.until(t, alice, "", "a")
	events, _ := a.watch(t, alice, url.Values{})
	wants(t, events, "ADDED a")
	a.house.write("policies/broken.yaml", "kind: [")
	a.eventually("a refusal", func() bool {
		status, x := a.get(t, alice, "")
		return status == 503 && x.Reason == "ServiceUnavailable"
	})
	if status, _ := a.get(t, alice, "/a"); status != 503 {
		t.Errorf("got %d", status)
	}
	a.world.set("b", map[string]string{})
	wants(t, events, "ERROR ServiceUnavailable")
}

// What the cluster publishes is read again when it changes.
func TestAggregatedTrustOfCluster(t *testing.T) {
	w := newWorld("a")
	a := newAggregatedServer(t, w, func(h *house) {
		c := &h.config.Aggregation
		c.ClientCA, c.AllowedNames, c.FromCluster = "", nil, true
	})
	status, _ := a.send(t, a.front, as("alice"), http.MethodGet, a.at+"/apis")
	if status != 503 { // it publishes nothing yet
		t.Errorf("got %d", status)
	}
	publish := func(authority string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.trust = map[string]string{
			"requestheader-client-ca-file": authority, "requestheader-allowed-names": `["front-proxy"]`,
			"requestheader-username-headers": `["X-Remote-User"]`, "requestheader-group-headers": `["X-Remote-Group"]`, "requestheader-extra-headers-prefix": `["X-Remote-Extra-"]`,
		}
	}
	publish(a.proxy.pem)
	a.eventually("the user is accepted", func() bool {
		status, _ := a.send(t, a.front, as("alice"), http.MethodGet, a.at+"/apis")
		return status == 200
	})
	publish(newAuthority(t).pem)
	a.eventually("another authority is trusted", func() bool {
		status, _ := a.send(t, a.front, as("alice"), http.MethodGet, a.at+"/apis")
		return status == 401
	})
}
