package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/client-go/rest"

	"github.com/writ-policy/writ/analysis/companion"
)

// Companion is a cluster whose API servers must have the companion of the active revision.
type Companion struct{ Cluster, Tenant string }

// Companions returns the clusters with a companion, sorted by name.
func (c *Clusters) Companions() (out []Companion) {
	for _, name := range c.Names() {
		if found := c.active.Load().clusters[name]; found != nil && found.Companion {
			out = append(out, Companion{found.Name, found.Tenant})
		}
	}
	return out
}

// Probe sends each API server of a cluster the probe of each slice. It returns an error with
// the reason unless all of them refuse all with the digest.
func (c *Clusters) Probe(ctx context.Context, name, namespace, digest string, slices int) error {
	found := c.active.Load().clusters[name]
	if found == nil || found.client == nil {
		return errors.New("the cluster is not listed any more")
	}
	addresses := found.Addresses
	if len(addresses) == 0 {
		addresses = []string{found.client.config.Host}
	}
	for _, address := range addresses {
		config := rest.CopyConfig(found.client.config)
		config.Host = address
		client, err := rest.RESTClientFor(config)
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

func probe(ctx context.Context, client *rest.RESTClient, namespace, digest string, slice int) error {
	body, err := json.Marshal(companion.Probe(namespace, slice))
	if err != nil {
		return err
	}
	err = client.Post().MaxRetries(0).AbsPath("/api/v1/namespaces", namespace, "configmaps").Param("dryRun", "All").
		SetHeader("Content-Type", "application/json").Body(body).Do(ctx).Error()
	if err == nil {
		return errors.New("the probe passes: the companion is not in force")
	}
	switch found := companion.ProbeDigest(err.Error()); found {
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
