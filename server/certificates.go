package server

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
)

// certificates holds the content of the TLS files that was last valid. It is safe for
// concurrent use.
type certificates struct {
	paths   [3]string // certificate, key and, unless empty, client authorities
	require bool      // a client without a certificate is refused at the handshake

	mu      sync.Mutex // held while the files are read
	content [3][]byte
	active  atomic.Pointer[tls.Config]
	lenient atomic.Pointer[tls.Config] // active, but it requires no certificate of a client
}

// readCertificates reads the files for the first time. It returns an error if one of
// them cannot be read, or if certificate and key do not match.
func readCertificates(cert, key, clientCA string, require bool) (*certificates, error) {
	c := &certificates{paths: [3]string{cert, key, clientCA}, require: require}
	if _, err := c.reload(); err != nil {
		return nil, err
	}
	return c, nil
}

// config returns the configuration of a listener. Each new connection uses the files
// that are active then.
func (c *certificates) config() *tls.Config { return latest(&c.active) }

// configOfBrowsers is config without the requirement of a client certificate.
func (c *certificates) configOfBrowsers() *tls.Config { return latest(&c.lenient) }

// configOfProxies asks for a client certificate and accepts any: each request verifies it
// against authorities of its own.
func (c *certificates) configOfProxies() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			config := c.active.Load().Clone()
			config.ClientAuth, config.ClientCAs = tls.RequestClientCert, nil
			return config, nil
		},
	}
}

func latest(active *atomic.Pointer[tls.Config]) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return active.Load(), nil },
	}
}

// authorities are those of client certificates; nil without a file.
func (c *certificates) authorities() *x509.CertPool { return c.active.Load().ClientCAs }

// reload reads the files again and reports whether any of them changed. If a certificate
// is written before its key, they do not match: reload returns an error, and the next
// call succeeds.
func (c *certificates) reload() (changed bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var content [3][]byte
	for i, path := range c.paths {
		if path == "" {
			continue
		}
		if content[i], err = os.ReadFile(path); err != nil {
			return false, fmt.Errorf("read certificates: %w", err)
		}
		changed = changed || !bytes.Equal(content[i], c.content[i])
	}
	if !changed && c.active.Load() != nil {
		return false, nil
	}
	active, err := tlsConfig(content[0], content[1], content[2])
	if err != nil {
		return false, fmt.Errorf("read certificates: %s: %w", c.paths[0], err)
	}
	c.lenient.Store(active)
	if c.require {
		active = active.Clone()
		active.ClientAuth = tls.RequireAndVerifyClientCert
	}
	c.content = content
	c.active.Store(active)
	return true, nil
}

func tlsConfig(cert, key, clientCA []byte) (*tls.Config, error) {
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{
		Certificates: []tls.Certificate{pair},
		MinVersion:   tls.VersionTLS12,
		NextProtos:   []string{"h2", "http/1.1"},
	}
	if clientCA != nil {
		config.ClientCAs = x509.NewCertPool()
		if !config.ClientCAs.AppendCertsFromPEM(clientCA) {
			return nil, errors.New("the client CA file contains no certificate")
		}
		config.ClientAuth = tls.VerifyClientCertIfGiven
	}
	return config, nil
}
