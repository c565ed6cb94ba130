// Package fleet has the commands about running servers: status, the comparison of what
// replicas serve, and rollback.
package fleet

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/writ-policy/writ/internal/redirect"
)

// maxResponse bounds a response in bytes.
const maxResponse = 16 << 20

// connection states how servers are reached. The zero value has no credentials and no timeout.
type connection struct {
	// Token is a bearer token, which that of TokenFile replaces.
	Token string
	// TokenFile contains a bearer token. CA is a PEM file of authorities to trust, Cert and
	// Key are those of a client.
	TokenFile string
	CA        string
	Cert      string
	Key       string
	// Timeout bounds a request.
	Timeout time.Duration
}

// client asks servers. It is safe for concurrent use.
type client struct {
	http  *http.Client
	token string
}

// newClient returns an error if a file cannot be read.
func newClient(o connection) (*client, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.CA != "" {
		content, err := os.ReadFile(o.CA)
		if err != nil {
			return nil, fmt.Errorf("read the authorities: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(content) {
			return nil, fmt.Errorf("read the authorities: %s contains no certificate", o.CA)
		}
	}
	if (o.Cert == "") != (o.Key == "") {
		return nil, errors.New("a client certificate and its key require each other")
	}
	if o.Cert != "" {
		pair, err := tls.LoadX509KeyPair(o.Cert, o.Key)
		if err != nil {
			return nil, fmt.Errorf("read the client certificate: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = config
	c := &client{http: &http.Client{Transport: transport, Timeout: o.Timeout, CheckRedirect: redirect.Stay}, token: o.Token}
	if o.TokenFile != "" {
		content, err := os.ReadFile(o.TokenFile)
		if err != nil {
			return nil, fmt.Errorf("read the token: %w", err)
		}
		if c.token = strings.TrimSpace(string(content)); c.token == "" {
			return nil, fmt.Errorf("read the token: %s is empty", o.TokenFile)
		}
	}
	return c, nil
}

// checkServer returns an error if text is not the URL of a server.
func checkServer(text string) error {
	at, err := url.Parse(text)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" || at.RawQuery != "" || at.User != nil {
		return fmt.Errorf("%q: must be a URL such as https://writ.example:8686", text)
	}
	return nil
}

// send sends a request, with a body of JSON unless that is nil, and reads the response. The
// body of the response is closed.
func (c *client) send(ctx context.Context, method, server, path string, body any) (*http.Response, []byte, error) {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, nil, err
		}
		content = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(server, "/")+path, content)
	if err != nil {
		return nil, nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxResponse))
	return response, text, err
}

// Read returns the status of a server, decoded and as it was sent.
func (c *client) Read(ctx context.Context, server string) (*serverStatus, []byte, error) {
	response, text, err := c.send(ctx, http.MethodGet, server, "/v1/status", nil)
	switch {
	case err != nil:
		return nil, nil, err
	case response.StatusCode == http.StatusUnauthorized:
		return nil, nil, errors.New("the server does not accept the credentials: use --token-file or --client-cert")
	case response.StatusCode != http.StatusOK:
		return nil, nil, fmt.Errorf("the server answers %s", response.Status)
	}
	status := &serverStatus{}
	if err := json.Unmarshal(text, status); err != nil {
		return nil, nil, errors.New("the answer is not the status of a server")
	}
	// The clock of the server: ages do not depend on the one here.
	status.At, err = http.ParseTime(response.Header.Get("Date"))
	if err != nil {
		status.At = time.Now()
	}
	return status, text, nil
}
