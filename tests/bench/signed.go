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

// sign signs a bundle with a new key, and returns the keys of its readers.
func sign(w *world, b *bundles.Bundle) (*bundles.Bundle, *bundles.Keys, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return nil, nil, err
	}
	in := func(name string) string { return filepath.Join(w.scratch, name) }
	for name, content := range map[string][]byte{
		"key.pem":    pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
		"public.pem": pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}),
		"keys.yaml":  []byte("keys: [{id: bench, state: active, algorithm: ES256, publicKeyFile: public.pem}]\n"),
	} {
		if err := os.WriteFile(in(name), content, 0o600); err != nil {
			return nil, nil, err
		}
	}
	keys, err := bundles.ReadKeys(in("keys.yaml"))
	if err != nil {
		return nil, nil, err
	}
	signing, err := bundles.ReadSigningKey(in("key.pem"), bundles.SigningOptions{Keys: keys})
	if err != nil {
		return nil, nil, err
	}
	signed, err := bundles.Sign(b, signing)
	return signed, keys, err
}
