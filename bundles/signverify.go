package bundles

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/bundle"
)

// Verify returns the key that signed the bundle. It returns an error unless the key is an
// active or next one of keys and the signature covers exactly the files of the bundle.
func (b *Bundle) Verify(keys *Keys) (Key, error) {
	manifest, err := b.Manifest.encode()
	if err != nil {
		return Key{}, fmt.Errorf("verify the bundle: %w", err)
	}
	data, err := dataFileOf(b.Data)
	if err != nil {
		return Key{}, fmt.Errorf("verify the bundle: %w", err)
	}
	key, err := keys.verify(b.Signatures, manifest, contentsOf(b.Files, data))
	if err != nil {
		return Key{}, fmt.Errorf("verify the bundle: %w", err)
	}
	return key, nil
}

// verify uses OPA's verification and adds the states of keys, which OPA does not have. The
// hash of each file is compared by its path, so a signature is valid for one bundle only.
func (k *Keys) verify(signatures, manifest []byte, files map[string]content) (Key, error) {
	if len(signatures) == 0 {
		return Key{}, fmt.Errorf("not signed: it has no %s", SignaturesPath)
	}
	config, err := decodeSignatures(signatures)
	if err != nil {
		return Key{}, err
	}
	key, err := k.findSigner(config)
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
	all[ManifestPath] = text(manifest)
	if err := verifyFiles(all, signed); err != nil {
		return Key{}, err
	}
	return key, nil
}

// verifyFiles compares the files with the signed ones, first the paths, then the contents.
// The manifest is last: it changes with every other file, and an error in that file is more
// useful.
func verifyFiles(files map[string]content, signed map[string]bundle.FileInfo) error {
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
		algorithm := signed[path].Algorithm
		newHash, ok := hashers[algorithm]
		if !ok {
			return fmt.Errorf("%q: hash algorithm %q is not accepted, must be one of %s", path, algorithm,
				strings.Join(slices.Sorted(maps.Keys(hashers)), ", "))
		}
		got, err := files[path].hash(path, newHash())
		if err != nil {
			return fmt.Errorf("%q is not what was signed: %w", path, err)
		}
		if want := signed[path].Hash; !strings.EqualFold(got, want) {
			return fmt.Errorf("%q is not what was signed: digest mismatch (want: %s, got: %s)", path, want, got)
		}
	}
	return nil
}

// decodeSignatures decodes .signatures.json like OPA, but returns an error for a plugin: a
// bundle must not choose its verifier.
func decodeSignatures(content []byte) (bundle.SignaturesConfig, error) {
	var config bundle.SignaturesConfig
	if err := decodeStrict(content, &config); err != nil {
		return config, fmt.Errorf("%s: %w", SignaturesPath, err)
	}
	if config.Plugin != "" && config.Plugin != "_default" {
		return config, fmt.Errorf("%s: unknown plugin %q", SignaturesPath, config.Plugin)
	}
	if len(config.Signatures) != 1 {
		return config, fmt.Errorf("%s: must have one signature, not %d", SignaturesPath, len(config.Signatures))
	}
	return config, nil
}

// findSigner returns the key that the signature names. It does not verify the signature. It
// returns an error if the key is unknown or revoked.
func (k *Keys) findSigner(config bundle.SignaturesConfig) (Key, error) {
	id, err := keyID(config.Signatures[0])
	if err != nil {
		return Key{}, fmt.Errorf("%s: %w", SignaturesPath, err)
	}
	key, ok := k.current()[id]
	switch {
	case !ok:
		return Key{}, fmt.Errorf("signed by key %q, which is not one of the keys", id)
	case key.State == KeyRevoked:
		return Key{}, fmt.Errorf("signed by key %q, which is revoked", id)
	}
	return key, nil
}

// keyID returns the ID in the header of a token, or in the claims, where older OPA versions
// write it.
func keyID(token string) (string, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return "", errors.New("the signature must be a JSON Web Token")
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
			return "", errors.New("the signature must be a JSON Web Token")
		}
	}
	switch {
	case header.ID != "":
		return header.ID, nil
	case claims.ID != "":
		return claims.ID, nil
	}
	return "", errors.New("the signature must name a key")
}
