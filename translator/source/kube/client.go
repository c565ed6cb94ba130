package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/writ-policy/writ/translator/source"
)

// Requests to one API server: each kind is listed at once, and discovery has some more.
const (
	queries = 50
	burst   = 100
	// discoveryTimeout bounds a request of discovery where the kubeconfig has no bound.
	discoveryTimeout = 30 * time.Second
)

// client are the requests to an API server.
type client struct {
	objects dynamic.Interface
	meta    rest.Interface // for discovery
}

func newClient(o Options) (*client, error) {
	config := o.Config
	if config == nil {
		var err error
		if config, err = readConfig(o.Location); err != nil {
			return nil, err
		}
	}
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = queries, burst
	config.UserAgent = "writ"
	config.WarningHandler = rest.NoWarnings{}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("the client of the cluster: %w", err)
	}
	meta, err := newMeta(config)
	if err != nil {
		return nil, fmt.Errorf("the client of the cluster: %w", err)
	}
	return &client{objects: objects, meta: meta}, nil
}

// newMeta returns a client for discovery. It knows only what an API server says about
// itself; package discovery of client-go links the types of all resources.
func newMeta(config *rest.Config) (rest.Interface, error) {
	config = rest.CopyConfig(config)
	config.GroupVersion = &schema.GroupVersion{}
	config.APIPath = "/"
	config.Timeout = cmp.Or(config.Timeout, discoveryTimeout)
	config.ContentConfig.ContentType = runtime.ContentTypeJSON
	config.ContentConfig.AcceptContentTypes = runtime.ContentTypeJSON
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	return rest.UnversionedRESTClientFor(config)
}

// readConfig reads the service account of the pod, or the kubeconfig in the way of kubectl.
func readConfig(l source.KubeLocation) (*rest.Config, error) {
	if l.InCluster {
		config, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("the service account of this pod: %w", err)
		}
		return config, nil
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	overrides := &clientcmd.ConfigOverrides{CurrentContext: l.Context}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides).ClientConfig()
	switch {
	case clientcmd.IsEmptyConfig(err):
		return nil, errors.New("read the kubeconfig: not found; set KUBECONFIG, or use kube:in-cluster in a pod")
	case err != nil:
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	return config, nil
}

// get reads an object of the API server that is not a resource.
func (c *client) get(ctx context.Context, path string, into any) error {
	request := c.meta.Get().AbsPath(path).MaxRetries(1) // the caller asks again
	var err error
	switch into := into.(type) {
	case *metav1.APIGroupList:
		err = request.Do(ctx).Into(into)
	case *metav1.APIResourceList:
		err = request.Do(ctx).Into(into)
	default:
		err = request.Do(ctx).Error()
	}
	if err != nil {
		return fmt.Errorf("read %s of the API server: %w", path, err)
	}
	return nil
}

// answers returns an error if the API server does not answer in time. A refusal is an answer.
func (c *client) answers(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	err := c.get(within, "/version", nil)
	if status := apierrors.APIStatus(nil); err == nil || errors.As(err, &status) && within.Err() == nil {
		return nil
	}
	return fmt.Errorf("the API server does not answer: %w", err)
}

// resourceError explains a failed request for a kind, and which permission is missing.
func resourceError(verb string, r resource, err error) error {
	name := r.gvr.GroupResource().String()
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		where := "the cluster scope"
		if r.namespace != "" {
			where = "namespace " + r.namespace
		}
		return fmt.Errorf("%w; grant the verbs list and watch on resource %q of API group %q in %s",
			err, r.gvr.Resource, r.gvr.Group, where)
	}
	return fmt.Errorf("%s %s: %w", verb, name, err)
}

// isUnready reports whether a request for readiness was answered with "no".
func isUnready(err error) bool {
	return err != nil && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err)
}
