package server

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// syncBuffer is a buffer for several goroutines.
type syncBuffer struct {
	mu sync.Mutex // held to read and write b
	b  bytes.Buffer
}

func (s *syncBuffer) Write(data []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(data)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// authority makes certificates, its own among them.
type authority struct {
	t    *testing.T
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	pem  string
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t}
	template := &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	a.pem, _, a.cert, a.key = a.sign(template, nil)
	return a
}

// issue is a certificate of that number and its key, for 127.0.0.1.
func (a *authority) issue(serial int64) (cert, key string) {
	cert, key, _, _ = a.sign(&x509.Certificate{
		SerialNumber: big.NewInt(serial), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a.cert)
	return cert, key
}

// client is the TLS configuration of a client that trusts a, with a certificate of that
// user and groups; without one if user is empty.
func (a *authority) client(user string, groups ...string) *tls.Config {
	a.t.Helper()
	if user == "" {
		config := &tls.Config{RootCAs: x509.NewCertPool()}
		config.RootCAs.AddCert(a.cert)
		return config
	}
	return a.clientUntil(time.Now().Add(time.Hour), user, groups...)
}

// expired is the same with a certificate whose time is over.
func (a *authority) expired(user string, groups ...string) *tls.Config {
	a.t.Helper()
	return a.clientUntil(time.Now().Add(-time.Minute), user, groups...)
}

func (a *authority) clientUntil(end time.Time, user string, groups ...string) *tls.Config {
	a.t.Helper()
	config := a.client("")
	cert, key, _, _ := a.sign(&x509.Certificate{
		SerialNumber: big.NewInt(7), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		Subject: pkix.Name{CommonName: user, Organization: groups}, NotAfter: end,
	}, a.cert)
	pair, err := tls.X509KeyPair([]byte(cert), []byte(key))
	if err != nil {
		a.t.Fatal(err)
	}
	config.Certificates = []tls.Certificate{pair}
	return config
}

func (a *authority) sign(template, parent *x509.Certificate) (certPEM, keyPEM string, cert *x509.Certificate, key *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	signer := a.key
	if parent == nil {
		parent, signer = template, key
		template.SerialNumber = big.NewInt(1)
	}
	if template.Subject.CommonName == "" {
		template.Subject = pkix.Name{CommonName: "test"}
	}
	template.NotBefore = time.Now().Add(-time.Hour)
	if template.NotAfter.IsZero() {
		template.NotAfter = time.Now().Add(time.Hour)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	if cert, err = x509.ParseCertificate(der); err != nil {
		a.t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	certPEM = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	keyPEM = string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}))
	return certPEM, keyPEM, cert, key
}

func TestCertificates(t *testing.T) {
	a, strangers := newAuthority(t), newAuthority(t)
	h := newHouse(t)
	cert, key := a.issue(2)
	h.config.TLS.Cert, h.config.TLS.Key = h.write("tls.crt", cert), h.write("tls.key", key)
	h.config.TLS.ClientCA, h.config.TLS.RequireClientCert = h.write("ca.crt", a.pem), true
	r := h.run()
	client := func(by *authority) *http.Client {
		config := &tls.Config{RootCAs: x509.NewCertPool()}
		config.RootCAs.AddCert(a.cert)
		if by != nil {
			cert, key := by.issue(9)
			pair, err := tls.X509KeyPair([]byte(cert), []byte(key))
			if err != nil {
				t.Fatal(err)
			}
			config.Certificates = []tls.Certificate{pair}
		}
		// No connection is kept: each request meets the certificate of its time.
		return &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true, ForceAttemptHTTP2: true}}
	}
	serial := func(c *http.Client) int64 {
		response, err := c.Get(r.url + "/healthz")
		if err != nil {
			return 0
		}
		response.Body.Close()
		if response.ProtoMajor != 2 {
			t.Errorf("got %s, want HTTP/2", response.Proto)
		}
		return response.TLS.PeerCertificates[0].SerialNumber.Int64()
	}
	if got := serial(client(a)); got != 2 {
		t.Errorf("got certificate %d, want 2", got)
	}
	if serial(client(nil)) != 0 || serial(client(strangers)) != 0 {
		t.Error("a client without a certificate of the authority was answered")
	}
	if cert, key = a.issue(3); true {
		h.write("tls.crt", cert) // does not fit the key yet: the old pair stays
		h.write("tls.key", key)
	}
	r.eventually("the new certificate is used", func() bool { return serial(client(a)) == 3 })
}

func TestInvalidCertificates(t *testing.T) {
	a := newAuthority(t)
	cert, key := a.issue(2)
	_, other := a.issue(3)
	for _, tt := range []struct{ name, cert, key, ca string }{
		{"no certificate", "x", key, ""},
		{"another's key", cert, other, ""},
		{"no authority", cert, key, "x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHouse(t)
			h.config.TLS.Cert, h.config.TLS.Key = h.write("tls.crt", tt.cert), h.write("tls.key", tt.key)
			if tt.ca != "" {
				h.config.TLS.ClientCA = h.write("ca.crt", tt.ca)
			}
			if _, err := New(h.config); err == nil {
				t.Error("the files were accepted")
			}
		})
	}
}
