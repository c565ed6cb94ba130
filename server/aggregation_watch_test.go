package server

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/pager"
)

// bound lets a user get a namespace.
func bound(namespace, user, annotations string) string {
	return fmt.Sprintf(`apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: more, namespace: %s, annotations: {%s}}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %s}]
`, namespace, annotations, user)
}

func TestAggregatedWatch(t *testing.T) {
	a := newAggregatedServer(t, newWorld("a", "b", "c", "d"), nil)
	alice := as("alice")
	list := a.until(t, alice, "", "a")
	events, leave := a.watch(t, alice, url.Values{"resourceVersion": {list.Metadata.ResourceVersion}})
	a.world.set("c", map[string]string{"x": "y"}) // not one of hers: no event
	a.world.set("a", map[string]string{"team": "z"})
	if e := wants(t, events, "MODIFIED a"); e.Object.Metadata.Labels["team"] != "z" {
		t.Errorf("got %+v", e)
	}
	a.house.write("policies/more.yaml", bound("c", "alice", ""))
	wants(t, events, "ADDED c")
	a.house.write("policies/more.yaml", bound("d", "alice", ""))
	wants(t, events, "DELETED c", "ADDED d")
	a.world.set("a", nil)
	e := wants(t, events, "DELETED a")
	if e.Object.Metadata.Labels["team"] != "z" {
		t.Errorf("got %+v", e)
	}
	a.world.set("a", map[string]string{})
	last := wants(t, events, "ADDED a").Object.Metadata.ResourceVersion
	leave()
	for range events {
	}
	a.world.set("a", map[string]string{"team": "y"})
	a.eventually("the list of the watch is known", func() bool {
		events, leave := a.watch(t, alice, url.Values{"resourceVersion": {last}})
		defer leave()
		return (<-events).String() == "MODIFIED a"
	})
	for _, version := range []string{"12345", "x", "-1", last + "0", list.Metadata.ResourceVersion} {
		events, _ := a.watch(t, alice, url.Values{"resourceVersion": {version}})
		wants(t, events, "ERROR Expired")
		if _, isOpen := <-events; isOpen {
			t.Errorf("%s: the watch goes on", version)
		}
	}
	events, _ = a.watch(t, as("vera"), url.Values{"resourceVersion": {last}})
	wants(t, events, "ERROR Expired") // it is not hers
}

// A list changes when a grant begins or ends by its date, without another revision.
func TestAggregatedWatchOfDates(t *testing.T) {
	a := newAggregatedServer(t, newWorld("c", "d"), nil)
	a.until(t, as("vera"), "", "c", "d")
	events, _ := a.watch(t, as("alice"), url.Values{"allowWatchBookmarks": {"true"}})
	// batch returns the next events that are made together, if there are any.
	batch := func() (got []string) {
		for {
			e := wantsAny(t, events)
			switch {
			case e.Type != "BOOKMARK":
				got = append(got, e.String())
			case got != nil:
				return got
			}
		}
	}
	for lasts := 2 * time.Second; ; lasts *= 2 { // a slow machine may read the documents when the time is over
		date := time.Now().Add(lasts).UTC().Format(time.RFC3339)
		a.house.write("policies/more.yaml", bound("c", "alice", "")+"---\n"+bound("d", "alice", fmt.Sprintf("writ.dev/not-after: %q", date)))
		if got := batch(); len(got) == 2 {
			if want := []string{"ADDED c", "ADDED d"}; !slices.Equal(got, want) {
				t.Fatalf("got %v, want %v", got, want)
			}
			break
		}
		a.house.write("policies/more.yaml", bound("d", "bob", ""))
		batch()
	}
	if got := batch(); !slices.Equal(got, []string{"DELETED d"}) {
		t.Errorf("got %v", got)
	}
}

// Clients that get only some of the changes that are made together list again.
func TestAggregatedVersionsIncrease(t *testing.T) {
	a := newAggregatedServer(t, newWorld("a", "b", "c", "d"), nil)
	vera := as("vera")
	a.until(t, vera, "", "a", "b", "c", "d")
	events, _ := a.watch(t, vera, url.Values{"allowWatchBookmarks": {"true"}})
	var before uint64
	var versions []string
	for range 4 {
		e := <-events
		n, err := strconv.ParseUint(e.Object.Metadata.ResourceVersion, 10, 64)
		if err != nil || n <= before || e.Type != "ADDED" {
			t.Errorf("got %+v after %d", e, before)
		}
		before, versions = n, append(versions, e.Object.Metadata.ResourceVersion)
	}
	if e := wants(t, events, "BOOKMARK"); e.Object.Metadata.ResourceVersion != versions[3] || e.Object.Metadata.Annotations["k8s.io/initial-events-end"] != "true" {
		t.Errorf("got %+v", e)
	}
	for i, version := range versions {
		events, _ := a.watch(t, vera, url.Values{"resourceVersion": {version}, "allowWatchBookmarks": {"true"}})
		wants(t, events, []string{"ERROR Expired", "ERROR Expired", "ERROR Expired", "BOOKMARK"}[i])
	}
}

func TestAggregatedInitialEvents(t *testing.T) {
	a := newAggregatedServer(t, newWorld("a", "b"), nil)
	vera := as("vera")
	list := a.until(t, vera, "", "a", "b")
	initial := url.Values{"sendInitialEvents": {"true"}, "resourceVersionMatch": {"NotOlderThan"}, "allowWatchBookmarks": {"true"}, "resourceVersion": {list.Metadata.ResourceVersion}}
	events, _ := a.watch(t, vera, initial)
	if e := wants(t, events, "ADDED a", "ADDED b", "BOOKMARK"); e.Object.Metadata.Annotations["k8s.io/initial-events-end"] != "true" || e.Object.Kind != "AccessibleNamespace" {
		t.Errorf("got %+v", e)
	}
	a.world.set("c", map[string]string{})
	if e := wants(t, events, "ADDED c", "BOOKMARK"); e.Object.Metadata.Annotations != nil {
		t.Errorf("got %+v", e)
	}
	initial.Set("sendInitialEvents", "false")
	initial.Del("resourceVersion")
	events, _ = a.watch(t, vera, initial)
	wants(t, events, "BOOKMARK")
	initial.Del("resourceVersionMatch")
	events, _ = a.watch(t, vera, initial)
	wants(t, events, "422 Unprocessable Entity")
	events, _ = a.watch(t, vera, url.Values{"timeoutSeconds": {"1"}, "labelSelector": {"team=b"}})
	wants(t, events, "ADDED b")
	if e, isOpen := <-events; isOpen {
		t.Errorf("got %+v after the time of the watch", e)
	}
	const table, part = "application/json;as=Table;v=v1;g=meta.k8s.io", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	events, _ = a.watch(t, vera, url.Values{"allowWatchBookmarks": {"true"}}, table)
	for i := range 4 {
		e := <-events
		if e.Object.Kind != "Table" || len(e.Object.Rows) != 1 || (len(e.Object.ColumnDefinitions) == 3) != (i == 0) || e.Object.Rows[0].Object.Metadata.ResourceVersion == "" {
			t.Errorf("got %+v", e)
		}
	}
	events, _ = a.watch(t, vera, url.Values{}, part)
	if e := wants(t, events, "ADDED a"); e.Object.Kind != "PartialObjectMetadata" {
		t.Errorf("got %+v", e)
	}
}

func TestAggregatedWatchesAreBounded(t *testing.T) {
	a := newAggregatedServer(t, newWorld("a"), nil)
	alice := as("alice")
	a.until(t, alice, "", "a")
	var leave context.CancelFunc
	for range 10 {
		var events <-chan event
		events, leave = a.watch(t, alice, url.Values{})
		wants(t, events, "ADDED a")
	}
	events, _ := a.watch(t, alice, url.Values{})
	wants(t, events, "429 Too Many Requests")
	other, _ := a.watch(t, as("bob"), url.Values{"allowWatchBookmarks": {"true"}})
	wants(t, other, "BOOKMARK")
	leave()
	a.eventually("there is a place again", func() bool {
		events, leave := a.watch(t, alice, url.Values{})
		defer leave()
		return (<-events).String() == "ADDED a"
	})
}

// from sends what client-go asks for to a listener, as the API server does for a user.
type from struct {
	at   atomic.Pointer[aggregatedServer]
	user string
}

func (f *from) RoundTrip(r *http.Request) (*http.Response, error) {
	a := f.at.Load()
	r = r.Clone(r.Context())
	r.URL.Host = strings.TrimPrefix(a.at, "https://")
	r.Header.Set("X-Remote-User", f.user)
	return a.transport().RoundTrip(r)
}

var accessibleNamespaces = schema.GroupVersionResource{Group: "access.writ.dev", Version: "v1", Resource: "accessiblenamespaces"}

func namesIn(s cache.Store) []string {
	names := s.ListKeys()
	slices.Sort(names)
	return names
}

func informerOf(client any, list cache.ListWithContextFunc, watch cache.WatchFuncWithContext) cache.SharedIndexInformer {
	lw := &cache.ListWatch{ListWithContextFunc: list, WatchFuncWithContext: watch}
	return cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(lw, client), nil, 0, nil)
}

// The informers of client-go follow changes, and continue at another replica, which does not
// know the list that they have.
func TestAggregatedInformers(t *testing.T) {
	a := newAggregatedServer(t, newWorld("a", "b", "c"), nil)
	a.until(t, as("vera"), "", "a", "b", "c")
	f := &from{user: "vera"}
	f.at.Store(a)
	config := &rest.Config{Host: "https://writ", Transport: f, QPS: -1}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	pages := 0
	list := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		pages++
		return client.Resource(accessibleNamespaces).List(ctx, o)
	})
	list.PageSize = 2
	if _, _, err := list.List(t.Context(), metav1.ListOptions{}); err != nil || pages != 2 {
		t.Errorf("got %d pages, %v", pages, err)
	}
	if one, err := client.Resource(accessibleNamespaces).Get(t.Context(), "b", metav1.GetOptions{}); err != nil || one.GetLabels()["team"] != "b" {
		t.Errorf("got %v, %v", one, err)
	}
	parts, err := metadata.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	objects, metas := client.Resource(accessibleNamespaces), parts.Resource(accessibleNamespaces)
	informers := []cache.SharedIndexInformer{
		informerOf(client, func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return objects.List(ctx, o) }, objects.Watch),
		informerOf(parts, func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return metas.List(ctx, o) }, metas.Watch),
	}
	ctx, end := context.WithCancel(t.Context())
	var work sync.WaitGroup
	for _, informer := range informers {
		work.Go(func() { informer.RunWithContext(ctx) })
	}
	defer work.Wait()
	defer end()
	have := func(want ...string) {
		t.Helper()
		for i, informer := range informers {
			a.eventually(fmt.Sprintf("informer %d has %v", i, want), func() bool { return slices.Equal(namesIn(informer.GetStore()), want) })
		}
	}
	have("a", "b", "c")
	a.world.set("d", map[string]string{})
	a.world.set("b", nil)
	have("a", "c", "d")
	other := newAggregatedServer(t, newWorld("a", "x"), nil)
	other.until(t, as("vera"), "", "a", "x")
	f.at.Store(other)
	a.stop()
	<-a.ended
	have("a", "x")
	other.world.set("y", map[string]string{})
	have("a", "x", "y")
}
