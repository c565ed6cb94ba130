package bundles

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/bundle"
)

// hashings are the algorithms by which a signature's files may be hashed. OPA knows
// weaker ones, by which two files can be made to have one hash.
var hashings = []string{"SHA-256", "SHA-384", "SHA-512", "SHA-512-256"}

// Verify is the key by which the bundle is signed: an active or next one of keys, by
// a signature over all that is in the bundle and nothing else. The error names what
// does not hold.
func (b *Bundle) Verify(keys *Keys) (Key, error) {
	manifest, err := b.Manifest.encode()
	if err != nil {
		return Key{}, fmt.Errorf("verify the bundle: %w", err)
	}
	key, err := keys.verify(b.Signatures, manifest, b.Files)
	if err != nil {
		return Key{}, fmt.Errorf("verify the bundle: %w", err)
	}
	return key, nil
}

// verify leaves the cryptography to OPA and says by name what OPA does not know:
// states of keys. A file's hash is compared with the file's own name, so a signature
// holds for the one bundle it was made for.
func (k *Keys) verify(signatures, manifest []byte, files map[string][]byte) (Key, error) {
	if len(signatures) == 0 {
		return Key{}, fmt.Errorf("not signed: it has no %s", SignaturesPath)
	}
	config, err := decodeSignatures(signatures)
	if err != nil {
		return Key{}, err
	}
	key, err := k.signer(config)
	if err != nil {
		return Key{}, err
	}
	signed, err := bundle.VerifyBundleSignature(config, &bundle.VerificationConfig{
		PublicKeys: map[string]*bundle.KeyConfig{key.ID: {Key: key.PEM, Algorithm: key.Algorithm}},
		KeyID:      key.ID,
	})
	if err != nil {
		return Key{}, fmt.Errorf("the signature is not by key %q: %w", key.ID, err)
	}
	all := maps.Clone(files)
	all[ManifestPath] = manifest
	if err := verifyFiles(all, signed); err != nil {
		return Key{}, err
	}
	return key, nil
}

// verifyFiles holds the files to those of a signature, names first. The manifest comes
// last: it changes with every other file, which tells more.
func verifyFiles(files map[string][]byte, signed map[string]bundle.FileInfo) error {
	paths := slices.Sorted(maps.Keys(files))
	for _, path := range paths {
		if _, ok := signed[path]; !ok {
			return fmt.Errorf("%q is in the bundle and not signed", path)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(signed)) {
		if _, ok := files[path]; !ok {
			return fmt.Errorf("%q is signed and not in the bundle", path)
		}
	}
	paths = slices.DeleteFunc(paths, func(path string) bool { return path == ManifestPath })
	for _, path := range append(paths, ManifestPath) {
		if algorithm := signed[path].Algorithm; !slices.Contains(hashings, algorithm) {
			return fmt.Errorf("%q is signed by its %q hash; want one of %s", path, algorithm, strings.Join(hashings, ", "))
		}
		if err := bundle.VerifyBundleFile(path, *bytes.NewBuffer(files[path]), signed); err != nil {
			return fmt.Errorf("%q is not what was signed: %s", path, strings.TrimPrefix(err.Error(), path+": "))
		}
	}
	return nil
}

// decodeSignatures reads the file of signatures as OPA does, but for the plugins: a
// bundle must not choose who verifies it.
func decodeSignatures(content []byte) (bundle.SignaturesConfig, error) {
	var config bundle.SignaturesConfig
	if err := decodeStrict(content, &config); err != nil {
		return config, fmt.Errorf("%s: %w", SignaturesPath, err)
	}
	if config.Plugin != "" && config.Plugin != "_default" {
		return config, fmt.Errorf("%s: plugin %q is not known", SignaturesPath, config.Plugin)
	}
	if len(config.Signatures) != 1 {
		return config, fmt.Errorf("%s: %d signatures, want one", SignaturesPath, len(config.Signatures))
	}
	return config, nil
}

// signer is the key the signature says it is by. Nothing of that is verified yet.
func (k *Keys) signer(config bundle.SignaturesConfig) (Key, error) {
	id, err := keyID(config.Signatures[0])
	if err != nil {
		return Key{}, fmt.Errorf("%s: %w", SignaturesPath, err)
	}
	key, ok := k.now()[id]
	switch {
	case !ok:
		return Key{}, fmt.Errorf("signed by key %q, which is not one of the keys", id)
	case key.State == KeyRevoked:
		return Key{}, fmt.Errorf("signed by key %q, which is revoked", id)
	}
	return key, nil
}

// keyID is the ID in a token's header, or in the claims, where older OPAs have it.
func keyID(token string) (string, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return "", errors.New("the signature is not a token")
	}
	var header struct {
		ID string `json:"kid"`
	}
	var claims struct {
		ID string `json:"keyid"`
	}
	for i, to := range []any{&header, &claims} {
		content, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err == nil {
			err = json.Unmarshal(content, to)
		}
		if err != nil {
			return "", errors.New("the signature is not a token")
		}
	}
	switch {
	case header.ID != "":
		return header.ID, nil
	case claims.ID != "":
		return claims.ID, nil
	}
	return "", errors.New("the signature names no key")
}
