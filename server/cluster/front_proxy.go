package cluster

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/client-go/rest"

	"github.com/writ-policy/writ/server/auth"
	"github.com/writ-policy/writ/server/decision"
)

// trustPath is the ConfigMap in which an API server publishes how it forwards requests.
const trustPath = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"

// FrontProxy reads what the API server of the default cluster, or of the one that documents
// come from, publishes about the requests that it forwards.
func (s *Spaces) FrontProxy(ctx context.Context) (*auth.FrontProxyTrust, error) {
	client, err := s.defaultClient()
	if err != nil {
		return nil, err
	}
	text, err := client.Get().AbsPath(trustPath).Do(ctx).Raw()
	if err != nil {
		return nil, err
	}
	var object struct{ Data map[string]string }
	if err := json.Unmarshal(text, &object); err != nil {
		return nil, err
	}
	return parseTrust(object.Data)
}

func (s *Spaces) defaultClient() (*rest.RESTClient, error) {
	if s.Clusters != nil {
		placed := new(decision.Request)
		if s.Clusters.Place(placed) == nil {
			if found := s.Clusters.active.Load().clusters[placed.Cluster]; found != nil && found.client != nil {
				return found.client.open()
			}
		}
	}
	if s.open != nil {
		return s.open()
	}
	return nil, errors.New("no cluster with a kubeconfig is the default of the clusters file, and documents come from none")
}

// parseTrust reads the members of the ConfigMap.
func parseTrust(data map[string]string) (*auth.FrontProxyTrust, error) {
	t := &auth.FrontProxyTrust{Authorities: x509.NewCertPool()}
	if !t.Authorities.AppendCertsFromPEM([]byte(data["requestheader-client-ca-file"])) {
		return nil, errors.New("requestheader-client-ca-file contains no certificate")
	}
	for _, member := range []struct {
		key      string
		to       *[]string
		optional bool
	}{
		{"requestheader-allowed-names", &t.Names, true},
		{"requestheader-username-headers", &t.UserHeaders, false},
		{"requestheader-group-headers", &t.GroupHeaders, true},
		{"requestheader-extra-headers-prefix", &t.ExtraPrefixes, true},
	} {
		text := data[member.key]
		if text == "" && member.optional {
			continue
		}
		if err := json.Unmarshal([]byte(text), member.to); err != nil {
			return nil, fmt.Errorf("%s must be a JSON list of strings", member.key)
		}
	}
	if len(t.UserHeaders) == 0 {
		return nil, errors.New("requestheader-username-headers must not be empty")
	}
	return t, nil
}
