package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/writ-policy/writ/analysis/companion"
)

// Companion is a cluster whose API servers must have the companion of the active revision.
// Two values are equal if they are of the same listing: the cluster is reached as it was.
type Companion struct {
	Cluster, Tenant string

	of *reached
}

// Companions returns the clusters with a companion, sorted by name.
func (c *Clusters) Companions() (out []Companion) {
	for _, name := range c.Names() {
		if found, ok := c.Companion(name); ok {
			out = append(out, found)
		}
	}
	return out
}

// Companion returns a cluster with a companion, as the file lists it now.
func (c *Clusters) Companion(name string) (Companion, bool) {
	found := c.active.Load().clusters[name]
	if found == nil || !found.Companion {
		return Companion{}, false
	}
	return Companion{found.Name, found.Tenant, found}, true
}

// Probe sends each API server the probe of each slice. It returns an error with the reason
// unless all of them refuse all with the digest.
func (c *Companion) Probe(ctx context.Context, namespace, digest string, slices int) error {
	addresses := c.of.Addresses
	if len(addresses) == 0 {
		addresses = []string{c.of.client.config.Host}
	}
	for _, address := range addresses {
		client, err := c.of.client.at(address)
		if err != nil {
			return fmt.Errorf("%s: %w", address, err)
		}
		for slice := range slices {
			if err := probe(ctx, client, namespace, digest, slice+1); err != nil {
				return fmt.Errorf("%s: slice %d: %w", address, slice+1, err)
			}
		}
	}
	return nil
}

// Groups returns the API groups that the API servers serve themselves, with their admission, and
// not by an aggregated API server. It returns an error if it cannot list API services.
func (c *Companion) Groups(ctx context.Context) (map[string]bool, error) {
	client, err := c.of.client.at(c.of.client.config.Host)
	if err != nil {
		return nil, err
	}
	body, err := client.Get().MaxRetries(0).AbsPath("/apis/apiregistration.k8s.io/v1/apiservices").Do(ctx).Raw()
	if err != nil {
		return nil, err
	}
	var list struct {
		Kind  string
		Items []struct {
			Spec struct {
				Group   string
				Service *struct{}
			}
		}
	}
	if err := json.Unmarshal(body, &list); err != nil || list.Kind != "APIServiceList" || len(list.Items) == 0 {
		return nil, errors.New("the answer is not a list of API services")
	}
	out := make(map[string]bool)
	for _, item := range list.Items {
		isOwn, isKnown := out[item.Spec.Group]
		out[item.Spec.Group] = item.Spec.Service == nil && (isOwn || !isKnown)
	}
	return out, nil
}

// at returns a client of one API server, which follows no redirect: the answer of another
// server says nothing about this one.
func (c *client) at(address string) (*rest.RESTClient, error) {
	config := rest.CopyConfig(c.config)
	config.Host = address
	web, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	own := *web // it may be the default client of the process
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return rest.RESTClientForConfigAndClient(config, &own)
}

// probe asks an API server to create what a slice refuses. An answer counts only if it is
// that of the admission policy of this slice: other components may repeat text of a request.
func probe(ctx context.Context, client *rest.RESTClient, namespace, digest string, slice int) error {
	body, err := json.Marshal(companion.Probe(namespace, slice))
	if err != nil {
		return err
	}
	var code int
	err = client.Post().MaxRetries(0).AbsPath("/api/v1/namespaces", namespace, "configmaps").Param("dryRun", "All").
		SetHeader("Content-Type", "application/json").Body(body).Do(ctx).StatusCode(&code).Error()
	if err == nil {
		return errors.New("the probe passes: the companion is not in force")
	}
	var found string
	var refused apierrors.APIStatus
	if errors.As(err, &refused) && code == http.StatusForbidden {
		if s := refused.Status(); s.Code == http.StatusForbidden && s.Reason == metav1.StatusReasonForbidden {
			found = companion.ProbeDigest(s.Message, slice)
		}
	}
	switch found {
	case digest:
		return nil
	case "":
		return fmt.Errorf("the companion does not answer the probe: %w", err)
	default:
		return fmt.Errorf("companion %.12s is in force, not %.12s", found, digest)
	}
}

// readAddresses reads a list of URLs.
func readAddresses(key string, node *yaml.Node) (out []string, err error) {
	if node.Kind != yaml.SequenceNode {
		return nil, mistakef(node.Line, "%s must be a list", key)
	}
	for _, element := range node.Content {
		text, err := readString("an address", element)
		if err != nil {
			return nil, err
		}
		if u, err := url.Parse(text); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || strings.Trim(u.Path, "/") != "" {
			return nil, mistakef(element.Line, "the address %q must have the form https://HOST:PORT", text)
		}
		if slices.Contains(out, text) {
			return nil, mistakef(element.Line, "the address %q is there twice", text)
		}
		out = append(out, text)
	}
	return out, nil
}
