package cluster

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/writ-policy/writ/internal/limits"
	"github.com/writ-policy/writ/internal/progress"
	"github.com/writ-policy/writ/server/decision"
)

// maxResponse bounds a response of an API server. A longer response is truncated and
// does not parse. The limit of etcd for objects is 1.5 MiB.
const maxResponse = 8 << 20

// client fetches from one cluster.
type client struct {
	config *rest.Config
	open   func() (*rest.RESTClient, error) // opened on first use
	places chan struct{}                    // one element per fetch in progress
	// objects means that objects of any kind are read.
	objects bool
	// namespaces are listed and watched from the first question for them on.
	namespaces *mirror
	self       atomic.Pointer[string] // our user name in the cluster, once known
}

func newClient(entry *clusterEntry, o Options) (*client, error) {
	config, err := restConfig(entry)
	if err != nil {
		return nil, err
	}
	bound(config, o.Timeout)
	c := &client{config: config, places: make(chan struct{}, o.Places), objects: entry.Facts.Labels}
	c.namespaces = newMirror(func() (*rest.Config, error) { return restConfig(entry) })
	c.open = sync.OnceValues(func() (*rest.RESTClient, error) { return rest.RESTClientFor(config) })
	return c, nil
}

// bound sets how requests are sent and how responses are read.
func bound(config *rest.Config, timeout time.Duration) {
	config.Timeout = timeout
	config.QPS = -1 // places bounds the fetches
	config.UserAgent = "writ"
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return progress.Transport(limits.Responses(next, maxResponse))
	})
	config.APIPath = "/api"
	config.GroupVersion = &schema.GroupVersion{Version: "v1"}
	config.ContentConfig.ContentType = "application/json"
	config.ContentConfig.AcceptContentTypes = "application/json"
	config.NegotiatedSerializer = statuses()
}

func restConfig(entry *clusterEntry) (*rest.Config, error) {
	if entry.InCluster {
		return rest.InClusterConfig()
	}
	kubeconfig, err := clientcmd.LoadFromFile(entry.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", entry.Kubeconfig, err)
	}
	if err := clientcmd.ResolveLocalPaths(kubeconfig); err != nil {
		return nil, fmt.Errorf("%s: %w", entry.Kubeconfig, err)
	}
	config, err := clientcmd.NewNonInteractiveClientConfig(*kubeconfig, entry.Context, &clientcmd.ConfigOverrides{}, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", entry.Kubeconfig, err)
	}
	return config, nil
}

// statuses returns a serializer for the Status objects of failed requests. Successful
// responses are not decoded by it.
func statuses() runtime.NegotiatedSerializer {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	return serializer.NewCodecFactory(scheme).WithoutConversion()
}

// complete fetches the missing facts. It waits for one of the client's places.
func (c *client) complete(ctx context.Context, r *decision.Request, w decision.Facts) {
	if !c.enter(ctx) {
		if w.Pod {
			r.PodError = "too many pods are being read"
		}
		return
	}
	defer c.leave()
	var labels map[string]string
	var read object
	var reading sync.WaitGroup
	if w.NamespaceLabels && r.Namespace != "" {
		reading.Go(func() { labels = c.namespaceLabels(ctx, r) })
	}
	if w.Labels || w.Node {
		reading.Go(func() { read = c.object(ctx, r, w.Node) })
	}
	if w.Pod {
		r.Pod, r.PodError = c.pod(ctx, r.Namespace, r.Name)
	}
	reading.Wait()
	if labels != nil {
		r.NamespaceLabels = labels
	}
	if w.Labels {
		r.Labels = read.labels
	}
	if w.Node && read.node != "" {
		r.Attributes = maps.Clone(r.Attributes)
		if r.Attributes == nil {
			r.Attributes = make(map[string]any, 1)
		}
		r.Attributes[decision.AttributePodNode] = read.node
	}
}

// enter waits for a place. It returns false if ctx is done first.
func (c *client) enter(ctx context.Context) bool {
	select {
	case c.places <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	if ctx.Err() != nil { // both cases were ready, and select chose this one
		c.leave()
		return false
	}
	return true
}

func (c *client) leave() { <-c.places }
