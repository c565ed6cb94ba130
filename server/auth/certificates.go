package auth

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"sync"
	"time"
)

// maxVerified bounds the certificates that are not verified again.
const maxVerified = 10_000

// Certificates authenticates client certificates, as Kubernetes does: the common name is
// the user, the organizations are the groups. A connection outlives its handshake, so
// each request verifies the certificate against the authorities of its time. It is safe
// for concurrent use.
type Certificates struct {
	authorities func() *x509.CertPool

	mu       sync.Mutex // held to read and write the rest
	pool     *x509.CertPool
	verified map[[sha256.Size]byte]time.Time // until when
}

// NewCertificates returns an authenticator of certificates that authorities sign.
// Changed authorities are another pool.
func NewCertificates(authorities func() *x509.CertPool) *Certificates {
	return &Certificates{authorities: authorities}
}

// Authenticate identifies the sender by the certificate of the connection.
func (c *Certificates) Authenticate(_ context.Context, given Credentials) (*Caller, error) {
	if given.TLS == nil || len(given.TLS.PeerCertificates) == 0 {
		return nil, nil
	}
	if !c.verify(given.TLS, time.Now()) {
		return nil, ErrConnection
	}
	subject := &given.TLS.PeerCertificates[0].Subject
	if subject.CommonName == "" {
		return nil, errCredentials
	}
	return &Caller{Name: subject.CommonName, Groups: subject.Organization}, nil
}

func (c *Certificates) verify(state *tls.ConnectionState, now time.Time) bool {
	hash := sha256.New()
	for _, certificate := range state.PeerCertificates {
		hash.Write(certificate.Raw)
	}
	key, pool := [sha256.Size]byte(hash.Sum(nil)), c.authorities()
	c.mu.Lock()
	if c.pool != pool || len(c.verified) >= maxVerified {
		c.pool, c.verified = pool, make(map[[sha256.Size]byte]time.Time)
	}
	until := c.verified[key]
	c.mu.Unlock()
	if now.Before(until) {
		return true
	}
	o := x509.VerifyOptions{Roots: pool, Intermediates: x509.NewCertPool(), CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	for _, certificate := range state.PeerCertificates[1:] {
		o.Intermediates.AddCert(certificate)
	}
	chains, err := state.PeerCertificates[0].Verify(o)
	if err != nil {
		return false
	}
	until = chains[0][0].NotAfter
	for _, certificate := range chains[0] {
		if certificate.NotAfter.Before(until) {
			until = certificate.NotAfter
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pool == pool {
		c.verified[key] = until
	}
	return true
}

// Union authenticates by a bearer token or by the certificate of the connection. A token
// wins, and a wrong one is not made good by a certificate. Either may be nil.
type Union struct {
	Tokens       Authenticator
	Certificates Authenticator
}

// Authenticate identifies the sender.
func (u Union) Authenticate(ctx context.Context, c Credentials) (*Caller, error) {
	var byCertificate *Caller
	if u.Certificates != nil {
		var err error
		if byCertificate, err = u.Certificates.Authenticate(ctx, c); err != nil {
			return nil, err
		}
	}
	if len(c.Authorization) == 0 {
		return byCertificate, nil
	}
	if u.Tokens == nil {
		return nil, errCredentials
	}
	return u.Tokens.Authenticate(ctx, c)
}
