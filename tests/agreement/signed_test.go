package agreement

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/tests/process"
)

// signer writes a new key pair and the file of keys that has it as "release".
func signer(t *testing.T) (private, public string, keys *bundles.Keys) {
	t.Helper()
	dir := t.TempDir()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	open, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	file := "keys: [{id: release, state: active, algorithm: ES256, publicKeyFile: release.pub}]"
	for name, content := range map[string][]byte{
		"release.pem": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}),
		"release.pub": pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: open}),
		"keys.yaml":   []byte(file),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if keys, err = bundles.ReadKeys(filepath.Join(dir, "keys.yaml")); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "release.pem"), filepath.Join(dir, "release.pub"), keys
}

// A stock opa verifies what is signed here, and refuses what was changed after it.
func TestStockOPAVerifiesTheSignature(t *testing.T) {
	private, public, keys := signer(t)
	b, _ := buildDirectory(t, "../conformance/access/kube-rules/policies")
	key, err := bundles.ReadSigningKey(private, bundles.SigningOptions{Keys: keys})
	if err != nil {
		t.Fatal(err)
	}
	signed, err := bundles.Sign(b, key)
	if err != nil {
		t.Fatal(err)
	}
	rows := []struct {
		name   string
		change func(b *bundles.Bundle)
		want   string
	}{
		{"signed", func(*bundles.Bundle) {}, ""},
		{"stripped", func(b *bundles.Bundle) { b.Signatures = nil }, "missing .signatures.json"},
		{"another sequence number", func(b *bundles.Bundle) { b.Manifest.Metadata.Sequence++ }, "digest mismatch"},
		{"a file more", func(b *bundles.Bundle) {
			b.Files = map[string][]byte{"writ/x.rego": []byte("package writ.x")}
		}, "not included in bundle signature"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			changed := *signed
			row.change(&changed)
			var packed bytes.Buffer
			if err := changed.WriteTar(&packed); err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			path := filepath.Join(dir, "bundle.tar.gz")
			if err := os.WriteFile(path, packed.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command(process.OPA(t), "build", "--bundle", path, "--output", filepath.Join(dir, "out.tar.gz"),
				"--verification-key", public, "--signing-alg", "ES256").CombinedOutput()
			if (err != nil) != (row.want != "") || !strings.Contains(string(out), row.want) {
				t.Errorf("got %v, want %q\n%s", err, row.want, out)
			}
		})
	}
}

// What a stock opa signs is verified here.
func TestSignedByStockOPA(t *testing.T) {
	private, _, keys := signer(t)
	b, _ := buildDirectory(t, "../conformance/access/kube-rules/policies")
	dir := filepath.Join(t.TempDir(), "bundle")
	if err := b.WriteDir(dir); err != nil {
		t.Fatal(err)
	}
	claims := filepath.Join(t.TempDir(), "claims.json")
	if err := os.WriteFile(claims, []byte(`{"keyid": "release"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	sign := exec.Command(process.OPA(t), "sign", "--signing-key", private, "--signing-alg", "ES256", "--claims-file", claims, "--bundle", ".")
	sign.Dir = dir
	if out, err := sign.CombinedOutput(); err != nil {
		t.Fatalf("opa sign: %v\n%s", err, out)
	}
	got, err := bundles.ReadSignedDir(dir, keys)
	if err != nil {
		t.Fatal(err)
	}
	if got.SignedBy.ID != "release" || got.Manifest.Revision != b.Manifest.Revision {
		t.Errorf("got revision %s signed by %q, want %s by release", got.Manifest.Revision, got.SignedBy.ID, b.Manifest.Revision)
	}
}
