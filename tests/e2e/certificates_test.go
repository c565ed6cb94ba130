package e2e

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// authority signs certificates of a test.
type authority struct {
	dir, file string
	cert      *x509.Certificate
	key       *ecdsa.PrivateKey
	issued    int64
}

func newAuthority(t *testing.T, dir, name string) *authority {
	t.Helper()
	a := &authority{dir: dir, file: filepath.Join(dir, name+".crt"), key: newKey(t)}
	template := a.template(name)
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	a.cert = template
	der := a.sign(t, template, &a.key.PublicKey)
	var err error
	a.cert, err = x509.ParseCertificate(der)
	check(t, err)
	check(t, os.WriteFile(a.file, encoded("CERTIFICATE", der), 0o600))
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	return key
}

func encoded(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// encodedKey is a key as clients and servers read it.
func encodedKey(t *testing.T, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	check(t, err)
	return encoded("PRIVATE KEY", der)
}

func (a *authority) template(name string, groups ...string) *x509.Certificate {
	a.issued++
	return &x509.Certificate{
		SerialNumber: big.NewInt(a.issued), Subject: pkix.Name{CommonName: name, Organization: groups},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
}

func (a *authority) sign(t *testing.T, template *x509.Certificate, key crypto.PublicKey) []byte {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key, a.key)
	check(t, err)
	return der
}

// issue writes a certificate for a common name and hosts, and its key.
func (a *authority) issue(t *testing.T, name string, hosts ...string) (cert, key string) {
	t.Helper()
	template := a.template(name)
	template.DNSNames, template.ExtKeyUsage = hosts, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
	private := newKey(t)
	file := filepath.Join(a.dir, fmt.Sprintf("%s-%d", a.cert.Subject.CommonName, a.issued))
	check(t, os.WriteFile(file+".crt", encoded("CERTIFICATE", a.sign(t, template, &private.PublicKey)), 0o600))
	check(t, os.WriteFile(file+".key", encodedKey(t, private), 0o600))
	return file + ".crt", file + ".key"
}

// client returns the certificate of a user in groups, for a key of his.
func (a *authority) client(t *testing.T, user string, groups []string, key crypto.PublicKey) []byte {
	t.Helper()
	template := a.template(user, groups...)
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return encoded("CERTIFICATE", a.sign(t, template, key))
}
