package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"

	"github.com/writ-policy/writ/bundles"
)

// signingFiles are a private key, and the keys that readers of its signatures have.
type signingFiles struct{ key, keys string }

// newSigningFiles writes a new key, and the keys of its readers.
func newSigningFiles(folder string) (signingFiles, error) {
	f := signingFiles{filepath.Join(folder, "key.pem"), filepath.Join(folder, "keys.yaml")}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return f, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return f, err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return f, err
	}
	for name, content := range map[string][]byte{
		f.key:                               pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
		filepath.Join(folder, "public.pem"): pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}),
		f.keys:                              []byte("keys: [{id: bench, state: active, algorithm: ES256, publicKeyFile: public.pem}]\n"),
	} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			return f, err
		}
	}
	return f, nil
}

// sign signs a bundle with a new key, and returns the keys of its readers.
func sign(w *world, b *bundles.Bundle) (*bundles.Bundle, *bundles.Keys, error) {
	files, err := newSigningFiles(w.scratch)
	if err != nil {
		return nil, nil, err
	}
	keys, err := bundles.ReadKeys(files.keys)
	if err != nil {
		return nil, nil, err
	}
	signing, err := bundles.ReadSigningKey(files.key, bundles.SigningOptions{Keys: keys})
	if err != nil {
		return nil, nil, err
	}
	signed, err := bundles.Sign(b, signing)
	return signed, keys, err
}
