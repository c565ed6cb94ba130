package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/writ-policy/writ/server/lists"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/source/kube"
)

// mirror holds the namespaces of a cluster. A Reflector keeps it like the API server's, from
// the first question on; it implements cache.ReflectorStore.
type mirror struct {
	config func() (*rest.Config, error)
	start  sync.Once
	stop   context.CancelFunc
	ctx    context.Context

	mu       sync.Mutex
	found    map[string]lists.Namespace
	isSynced bool
	err      error        // of the last request; nil if it succeeded
	space    *lists.Space // of found; nil if it must be made again
	changed  chan struct{}
}

func newMirror(config func() (*rest.Config, error)) *mirror {
	m := &mirror{config: config, found: make(map[string]lists.Namespace), changed: make(chan struct{})}
	m.ctx, m.stop = context.WithCancel(context.Background())
	return m
}

// get returns the namespaces. It waits until they are known or ctx is done.
func (m *mirror) get(ctx context.Context) (*lists.Space, error) {
	m.start.Do(m.run)
	for {
		space, changed, err := m.state()
		if space != nil {
			return space, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, errors.Join(lists.ErrNotSynced, err)
		}
	}
}

// state returns the namespaces, nil if they are not known, and what is closed when they
// differ.
func (m *mirror) state() (*lists.Space, <-chan struct{}, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.isSynced || m.err != nil {
		return nil, m.changed, m.err
	}
	if m.space == nil {
		all := slices.SortedFunc(maps.Values(m.found), func(a, b lists.Namespace) int { return strings.Compare(a.Name, b.Name) })
		m.space = &lists.Space{Namespaces: all, Changed: m.changed}
	}
	return m.space, m.changed, nil
}

// change calls f and wakes those who wait if it reports a change.
func (m *mirror) change(f func() bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f() {
		m.space = nil
		close(m.changed)
		m.changed = make(chan struct{})
	}
}

// report records the result of a request.
func (m *mirror) report(err error) {
	m.change(func() bool {
		isNew := (err == nil) != (m.err == nil)
		m.err = err
		return isNew
	})
}

// run starts to mirror the namespaces, until stop.
func (m *mirror) run() {
	config, err := m.config()
	if err != nil {
		m.report(err)
		return
	}
	config.UserAgent = "writ"
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		m.report(err)
		return
	}
	from := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	kube.Reflect(m.ctx, client, from, cache.ReflectorOptions{Name: "namespaces"}, m, func(_ string, err error) { m.report(err) })
}

func namespaceOf(object any) (lists.Namespace, error) {
	u, ok := object.(*unstructured.Unstructured)
	if !ok {
		return lists.Namespace{}, fmt.Errorf("the API server sent a %T and not an object", object)
	}
	n := lists.Namespace{Name: u.GetName(), Labels: u.GetLabels(), Created: u.GetCreationTimestamp().Time}
	if n.Labels == nil {
		n.Labels = map[string]string{}
	}
	return n, nil
}

func isSame(a, b lists.Namespace) bool {
	return a.Name == b.Name && a.Created.Equal(b.Created) && maps.Equal(a.Labels, b.Labels)
}

// Add implements cache.ReflectorStore.
func (m *mirror) Add(object any) error { return m.Update(object) }

// Update implements cache.ReflectorStore.
func (m *mirror) Update(object any) error {
	n, err := namespaceOf(object)
	if err != nil {
		return err
	}
	m.change(func() bool {
		old, known := m.found[n.Name]
		m.found[n.Name] = n
		return !known || !isSame(old, n)
	})
	return nil
}

// Delete implements cache.ReflectorStore.
func (m *mirror) Delete(object any) error {
	n, err := namespaceOf(object)
	if err != nil {
		return err
	}
	m.change(func() bool {
		_, known := m.found[n.Name]
		delete(m.found, n.Name)
		return known
	})
	return nil
}

// Replace implements cache.ReflectorStore: the objects are complete.
func (m *mirror) Replace(objects []any, _ string) error {
	found := make(map[string]lists.Namespace, len(objects))
	for _, object := range objects {
		n, err := namespaceOf(object)
		if err != nil {
			return err
		}
		found[n.Name] = n
	}
	m.change(func() bool {
		isChanged := !m.isSynced || !maps.EqualFunc(m.found, found, isSame)
		m.found, m.isSynced = found, true
		return isChanged
	})
	return nil
}

// Resync implements cache.ReflectorStore.
func (m *mirror) Resync() error { return nil }

// Spaces are the namespaces of clusters. The zero value knows no cluster.
type Spaces struct {
	// Clusters are those of the clusters file, nil without one.
	Clusters *Clusters
	own      *mirror
	open     func() (*rest.RESTClient, error) // the cluster of documents; nil without one
}

// SpacesOf returns the namespaces of the clusters of a file, which may be nil, and of the
// cluster that documents come from, nil if they come from none. The client asks a cluster
// for them from the first question on.
func SpacesOf(c *Clusters, documents *source.KubeLocation) *Spaces {
	s := &Spaces{Clusters: c}
	if documents != nil {
		entry := &clusterEntry{InCluster: documents.InCluster, Context: documents.Context}
		s.own = newMirror(func() (*rest.Config, error) { return ownConfig(entry) })
		s.open = sync.OnceValues(func() (*rest.RESTClient, error) {
			config, err := ownConfig(entry)
			if err != nil {
				return nil, err
			}
			bound(config, DefaultTimeout)
			return rest.RESTClientFor(config)
		})
	}
	return s
}

// ownConfig reads the service account of the pod, or the kubeconfig in the way of kubectl.
func ownConfig(entry *clusterEntry) (*rest.Config, error) {
	if entry.InCluster {
		return restConfig(entry)
	}
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(),
		&clientcmd.ConfigOverrides{CurrentContext: entry.Context}).ClientConfig()
}

// Namespaces returns the namespaces of a cluster, nil if the cluster has no API server that
// is known. It waits until they are known; once ctx is done, the error wraps
// lists.ErrNotSynced.
func (s *Spaces) Namespaces(ctx context.Context, cluster string) (*lists.Space, error) {
	if s.Clusters != nil {
		if found := s.Clusters.active.Load().clusters[cluster]; found != nil && found.client != nil {
			return found.client.namespaces.get(ctx)
		}
	}
	if s.own != nil {
		return s.own.get(ctx)
	}
	return nil, nil
}
