package cluster

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
)

// Connection is how a kubeconfig reaches a server.
type Connection struct {
	// Server is the URL of the server, and Client sends requests with the credentials.
	Server string
	Client *http.Client
	// HasCredentials reports whether the kubeconfig has credentials. Certificate is that of
	// the client, nil without one.
	HasCredentials bool
	Certificate    *x509.Certificate
}

// Connect returns a connection to the API server that a kubeconfig names; an empty context is
// the current one. It returns an error if the file, or one that it names, cannot be read. It
// sends nothing.
func Connect(kubeconfig, context string, timeout time.Duration) (*Connection, error) {
	config, err := restConfig(&clusterEntry{Kubeconfig: kubeconfig, Context: context})
	if err != nil {
		return nil, err
	}
	config.Timeout = timeout
	config.UserAgent = "writ"
	if err := rest.LoadTLSFiles(config); err != nil {
		return nil, fmt.Errorf("%s: %w", kubeconfig, err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kubeconfig, err)
	}
	c := &Connection{
		Server: config.Host, Client: client,
		HasCredentials: len(config.CertData) > 0 || config.BearerToken != "" || config.BearerTokenFile != "" || config.Username != "" ||
			config.ExecProvider != nil || config.AuthProvider != nil,
	}
	if block, _ := pem.Decode(config.CertData); block != nil {
		if c.Certificate, err = x509.ParseCertificate(block.Bytes); err != nil {
			return nil, fmt.Errorf("%s: client certificate: %w", kubeconfig, err)
		}
	}
	return c, nil
}
