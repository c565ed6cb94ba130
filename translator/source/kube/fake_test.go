package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/writ-policy/writ/translator/source"
)

// object is one object of the fake API server.
type object map[string]any

// apiServer speaks as much of the protocol of an API server as a client needs that lists,
// continues lists, and watches. What a test sets is what it serves.
type apiServer struct {
	*httptest.Server
	mu        sync.Mutex
	served    map[string][]string          // resource/Kind[/namespaced] by group/version
	objects   map[string]map[string]object // by resource, by namespace/name
	version   int
	oldest    int // versions before it are too old
	log       []change
	page      int // most objects of a page; zero is the client's limit
	forbidden map[string]bool
	unready   bool
	silent    bool                     // it does not answer, and keeps its connections open
	gone      bool                     // it accepts no connection
	streams   bool                     // it sends initial events to a watch
	raw       map[string]string        // by path: the whole answer
	expire    bool                     // continued lists are too old
	watchers  map[chan object]string   // by resource
	requests  map[string]int           // by verb and resource
	cut       map[chan struct{}]string // ends a watch
}

const rbac = "rbac.authorization.k8s.io/v1"

// newAPIServer serves the kinds of RBAC.
func newAPIServer(t *testing.T) *apiServer {
	t.Helper()
	a := &apiServer{
		served: map[string][]string{rbac: {
			"roles/Role/namespaced", "rolebindings/RoleBinding/namespaced", "clusterroles/ClusterRole", "clusterrolebindings/ClusterRoleBinding",
		}},
		objects: make(map[string]map[string]object), forbidden: make(map[string]bool), raw: make(map[string]string),
		watchers: make(map[chan object]string), requests: make(map[string]int), cut: make(map[chan struct{}]string),
		version: 10, oldest: 1,
	}
	a.Server = httptest.NewServer(a)
	t.Cleanup(func() { a.leave(); a.Close() })
	return a
}

// set changes what is served.
func (a *apiServer) set(change func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change()
}

// put stores an object and reports it to the watchers. It is called by set.
func (a *apiServer) put(resource, namespace, name string, fields object) {
	a.version++
	metadata := object{"name": name, "resourceVersion": strconv.Itoa(a.version), "uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z", "managedFields": []any{object{}}}
	key := name
	if namespace != "" {
		metadata["namespace"] = namespace
		key = namespace + "/" + name
	}
	o := object{"metadata": metadata}
	maps.Copy(o, fields)
	if a.objects[resource] == nil {
		a.objects[resource] = make(map[string]object)
	}
	event := "ADDED"
	if a.objects[resource][key] != nil {
		event = "MODIFIED"
	}
	a.objects[resource][key] = o
	a.report(resource, event, o)
}

func (a *apiServer) remove(resource, key string) {
	a.version++
	o := a.objects[resource][key]
	delete(a.objects[resource], key)
	a.report(resource, "DELETED", o)
}

func (a *apiServer) report(resource, event string, o object) {
	a.log = append(a.log, change{a.version, resource, object{"type": event, "object": a.typed(resource, o)}})
	for w, of := range a.watchers {
		if of == resource {
			w <- object{"type": event, "object": a.typed(resource, o)}
		}
	}
}

// change is an event that a watch can begin before.
type change struct {
	version  int
	resource string
	event    object
}

// typed returns an object with its apiVersion and kind.
func (a *apiServer) typed(resource string, o object) object {
	out := maps.Clone(o)
	for version, resources := range a.served {
		for _, r := range resources {
			if name, kind := split(r); name == resource {
				out["apiVersion"], out["kind"] = version, kind
			}
		}
	}
	return out
}

func split(r string) (resource, kind string) {
	parts := strings.Split(r, "/")
	return parts[0], parts[1]
}

// cutAll ends all watches.
func (a *apiServer) cutAll() {
	for c := range a.cut {
		close(c)
		delete(a.cut, c)
	}
}

func (a *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	raw, isRaw := a.raw[r.URL.Path]
	switch {
	case a.silent:
		a.mu.Unlock()
		<-r.Context().Done()
		a.mu.Lock()
	case isRaw:
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, raw)
	case r.URL.Path == "/readyz" && a.unready:
		http.Error(w, "[-]poststarthook/crd-informer-synced failed", http.StatusInternalServerError)
	case r.URL.Path == "/readyz":
		fmt.Fprint(w, "ok")
	case r.URL.Path == "/apis":
		a.groups(w)
	default:
		a.resource(w, r) // unlocks
		return
	}
	a.mu.Unlock()
}

func respond(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func fail(w http.ResponseWriter, code int, reason, message string) {
	respond(w, code, object{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": message})
}

func (a *apiServer) groups(w http.ResponseWriter) {
	byGroup := make(map[string][]any)
	for _, gv := range slices.Sorted(maps.Keys(a.served)) {
		group, version, _ := strings.Cut(gv, "/")
		byGroup[group] = append(byGroup[group], object{"groupVersion": gv, "version": version})
	}
	var groups []any
	for name, versions := range byGroup {
		groups = append(groups, object{"name": name, "versions": versions})
	}
	respond(w, http.StatusOK, object{"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

// resource answers discovery of a version, a list or a watch.
func (a *apiServer) resource(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/apis/"), "/")
	resources, ok := a.served[strings.Join(parts[:2], "/")]
	if !ok {
		fail(w, http.StatusNotFound, "NotFound", "the server could not find the requested resource")
		a.mu.Unlock()
		return
	}
	if len(parts) == 2 {
		var list []any
		for _, r := range resources {
			name, kind := split(r)
			list = append(list,
				object{"name": name, "kind": kind, "namespaced": strings.HasSuffix(r, "/namespaced"), "verbs": []string{"list", "watch"}},
				object{"name": name + "/status", "kind": kind, "namespaced": true, "verbs": []string{"get"}})
		}
		respond(w, http.StatusOK, object{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": strings.Join(parts, "/"), "resources": list})
		a.mu.Unlock()
		return
	}
	name, namespace := parts[len(parts)-1], ""
	if parts[2] == "namespaces" {
		namespace = parts[3]
	}
	verb := "list"
	if r.URL.Query().Get("watch") != "" {
		verb = "watch"
	}
	a.requests[verb+" "+name]++
	switch {
	case a.forbidden[verb+" "+name]:
		fail(w, http.StatusForbidden, "Forbidden", fmt.Sprintf("%s.%s is forbidden: User \"writ\" cannot %s resource %q", name, parts[0], verb, name))
	case verb == "watch":
		a.watch(w, r, name, namespace) // unlocks
		return
	default:
		a.list(w, r, name, namespace)
	}
	a.mu.Unlock()
}

// list answers a list. A continue token is the key of the next object.
func (a *apiServer) list(w http.ResponseWriter, r *http.Request, resource, namespace string) {
	query := r.URL.Query()
	limit, _ := strconv.Atoi(query.Get("limit"))
	if a.page > 0 && limit > 0 {
		limit = min(limit, a.page)
	}
	from := query.Get("continue")
	if from != "" && a.expire {
		fail(w, http.StatusGone, "Expired", "the provided continue parameter is too old")
		return
	}
	items, next := []any{}, ""
	for _, key := range slices.Sorted(maps.Keys(a.objects[resource])) {
		switch {
		case namespace != "" && !strings.HasPrefix(key, namespace+"/"), key < from:
		case limit > 0 && len(items) == limit:
			next = cmp.Or(next, key)
		default:
			items = append(items, a.objects[resource][key])
		}
	}
	kind := a.typed(resource, object{})
	respond(w, http.StatusOK, object{
		"kind": fmt.Sprint(kind["kind"]) + "List", "apiVersion": kind["apiVersion"], "items": items,
		"metadata": object{"resourceVersion": strconv.Itoa(a.version), "continue": next},
	})
}

// watch sends the changes since a version.
func (a *apiServer) watch(w http.ResponseWriter, r *http.Request, resource, namespace string) {
	query := r.URL.Query()
	initial := query.Get("sendInitialEvents") == "true"
	if initial && !a.streams {
		fail(w, http.StatusUnprocessableEntity, "Invalid", "sendInitialEvents is forbidden for watch")
		a.mu.Unlock()
		return
	}
	from, _ := strconv.Atoi(query.Get("resourceVersion"))
	if !initial && from < a.oldest {
		fail(w, http.StatusGone, "Expired", "too old resource version")
		a.mu.Unlock()
		return
	}
	events, cut := make(chan object, 1000), make(chan struct{})
	if initial {
		for _, key := range slices.Sorted(maps.Keys(a.objects[resource])) {
			if namespace == "" || strings.HasPrefix(key, namespace+"/") {
				events <- object{"type": "ADDED", "object": a.typed(resource, a.objects[resource][key])}
			}
		}
		events <- object{"type": "BOOKMARK", "object": a.typed(resource, object{"metadata": object{
			"resourceVersion": strconv.Itoa(a.version), "annotations": object{"k8s.io/initial-events-end": "true"},
		}})}
	}
	for _, c := range a.log {
		if !initial && c.version > from && c.resource == resource {
			events <- c.event
		}
	}
	a.watchers[events], a.cut[cut] = resource, resource
	a.mu.Unlock()
	defer a.set(func() { delete(a.watchers, events); delete(a.cut, cut) })
	w.Header().Set("Content-Type", "application/json")
	flusher := http.NewResponseController(w)
	_ = flusher.Flush()
	for {
		select {
		case e := <-events:
			_ = json.NewEncoder(w).Encode(e)
			_ = flusher.Flush()
		case <-cut:
			panic(http.ErrAbortHandler)
		case <-r.Context().Done():
			return
		}
	}
}

func (a *apiServer) count(request string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.requests[request]
}

// dial connects to the server unless it is gone.
func (a *apiServer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	a.mu.Lock()
	gone := a.gone
	a.mu.Unlock()
	if gone {
		return nil, syscall.ECONNREFUSED
	}
	return new(net.Dialer).DialContext(ctx, network, address)
}

// leave makes the server gone: its watches end, and nothing connects any more.
func (a *apiServer) leave() {
	a.set(func() { a.gone = true; a.cutAll() })
	a.CloseClientConnections()
}

// open returns a source of the server.
func (a *apiServer) open(t *testing.T, location string, change func(o *Options)) *Source {
	t.Helper()
	parsed, err := source.ParseLocation(location)
	check(t, err)
	o := Options{
		Location: *parsed.Kube, Config: &rest.Config{Host: a.URL, Dial: a.dial}, Rescan: 20 * time.Millisecond,
		Kinds: []source.Kind{
			{APIVersion: rbac, Name: "Role"}, {APIVersion: rbac, Name: "ClusterRole"}, {APIVersion: rbac, Name: "RoleBinding"}, {APIVersion: rbac, Name: "ClusterRoleBinding"},
			{APIVersion: "writ.dev/v1", Name: "Role"}, {APIVersion: "kuadrant.io/v1", Name: "AuthPolicy"},
		},
	}
	if change != nil {
		change(&o)
	}
	s, err := Open(o)
	check(t, err)
	return s
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
