package bundles

import (
	"cmp"
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/open-policy-agent/opa/v1/bundle"
)

// SignaturesPath is the path of the signatures in a bundle.
const SignaturesPath = ".signatures.json"

// defaultKeyID is the ID that OPA uses for a key without one.
const defaultKeyID = "default"

// SigningKey is a private key that signs bundles. Its fields are not exported, and String
// returns its ID alone, to keep it out of logs.
type SigningKey struct {
	id        string
	algorithm string
	private   string // PEM
	public    crypto.PublicKey
}

// ID returns the ID of the key in signatures.
func (k *SigningKey) ID() string { return k.id }

// String returns the ID of the key.
func (k *SigningKey) String() string { return fmt.Sprintf("key %q", k.id) }

// GoString is like String, for the format %#v.
func (k *SigningKey) GoString() string { return k.String() }

// SigningOptions identify a signing key. The zero value is valid.
type SigningOptions struct {
	// ID is the ID of the key in the signature. Empty stands for the ID in Keys, or
	// "default" without Keys.
	ID string
	// Algorithm is the algorithm of the signature. Empty stands for the one in Keys; without
	// Keys, for RS256 or the algorithm of the elliptic curve.
	Algorithm string
	// Keys are the keys of readers. If not nil, the key must be one of them and active.
	Keys *Keys
}

// ReadSigningKey reads a private key in PEM. It returns an error if the file cannot be read,
// is not an RSA or NIST curve key, or does not match o. Errors do not contain the key.
func ReadSigningKey(path string, o SigningOptions) (*SigningKey, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the signing key: %w", err)
	}
	key, err := newSigningKey(content, o)
	if err != nil {
		return nil, fmt.Errorf("read the signing key %s: %w", path, err)
	}
	return key, nil
}

func newSigningKey(content []byte, o SigningOptions) (*SigningKey, error) {
	public, text, err := parsePrivateKey(content)
	if err != nil {
		return nil, err
	}
	key := &SigningKey{id: o.ID, algorithm: o.Algorithm, private: text, public: public}
	if o.Keys != nil {
		if err := key.checkKeys(o.Keys); err != nil {
			return nil, err
		}
	}
	key.id = cmp.Or(key.id, defaultKeyID)
	key.algorithm = cmp.Or(key.algorithm, defaultAlgorithm(public))
	if err := checkAlgorithm(key.algorithm, public); err != nil {
		return nil, err
	}
	return key, nil
}

// checkKeys takes ID and algorithm from the keys of readers. It returns an error if they do
// not have the key as an active one: no reader would accept the bundle.
func (k *SigningKey) checkKeys(keys *Keys) error {
	set := keys.current()
	if k.id == "" {
		for _, id := range slices.Sorted(maps.Keys(set)) {
			if isSameKey(set[id].public, k.public) {
				k.id = id
			}
		}
		if k.id == "" {
			return errors.New("its public key is not one of the keys")
		}
	}
	known, ok := set[k.id]
	switch {
	case !ok:
		return fmt.Errorf("%q is not one of the keys", k.id)
	case known.State != keyActive:
		return fmt.Errorf("key %q is %s; only active keys sign", k.id, known.State)
	case !isSameKey(known.public, k.public):
		return fmt.Errorf("it does not match the public key of key %q", k.id)
	case k.algorithm != "" && k.algorithm != known.Algorithm:
		return fmt.Errorf("the algorithm of key %q is %s, not %s", k.id, known.Algorithm, k.algorithm)
	}
	k.algorithm = known.Algorithm
	return nil
}

// parsePrivateKey returns the public key and the PEM block of a private key. Errors do not
// contain the key.
func parsePrivateKey(content []byte) (crypto.PublicKey, string, error) {
	block, _ := pem.Decode(content)
	// openssl ecparam writes the parameters of the curve before the key.
	for rest := content; block != nil && block.Type == "EC PARAMETERS"; {
		_, rest = pem.Decode(rest)
		block, _ = pem.Decode(rest)
	}
	if block == nil {
		return nil, "", errors.New("must be PEM")
	}
	var private any
	var err error
	switch block.Type {
	case "PRIVATE KEY":
		private, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	case "EC PRIVATE KEY":
		private, err = x509.ParseECPrivateKey(block.Bytes)
	case "RSA PRIVATE KEY":
		private, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	default:
		return nil, "", errors.New("must be the PEM of a private key")
	}
	if err != nil {
		return nil, "", errors.New("invalid private key")
	}
	text := string(pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: block.Bytes}))
	switch private := private.(type) {
	case *ecdsa.PrivateKey:
		return &private.PublicKey, text, nil
	case *rsa.PrivateKey:
		return &private.PublicKey, text, nil
	}
	return nil, "", errors.New("the private key must be RSA or on a NIST elliptic curve")
}

func defaultAlgorithm(public crypto.PublicKey) string {
	if elliptic, ok := public.(*ecdsa.PublicKey); ok {
		for algorithm, curve := range curves {
			if curve == elliptic.Curve {
				return algorithm
			}
		}
	}
	return "RS256"
}

// hashing is the hash algorithm of files in a signature.
const hashing = bundle.SHA256

// Sign returns a copy of the bundle with a signature in OPA's format over the manifest and
// all files, generated tests included. It replaces an earlier signature. It returns an error
// if a file with JSON cannot be decoded or the key cannot sign.
func Sign(b *Bundle, key *SigningKey) (*Bundle, error) {
	manifest, err := b.Manifest.encode()
	if err != nil {
		return nil, fmt.Errorf("sign the bundle: %w", err)
	}
	data, err := dataFileOf(b.Data)
	if err != nil {
		return nil, fmt.Errorf("sign %s: %w", dataPath, err)
	}
	contents := contentsOf(b.Files, data)
	contents[ManifestPath] = text(manifest)
	files := make([]bundle.FileInfo, 0, len(contents))
	for _, path := range slices.Sorted(maps.Keys(contents)) { // the manifest is the first
		sum, err := contents[path].hash(path, hashers[string(hashing)]())
		if err != nil {
			return nil, fmt.Errorf("sign %s: %w", path, err)
		}
		files = append(files, bundle.NewFile(path, sum, string(hashing)))
	}
	token, err := bundle.GenerateSignedToken(files, bundle.NewSigningConfig(key.private, key.algorithm, ""), key.id)
	if err != nil {
		return nil, fmt.Errorf("sign the bundle with %s: %w", key, err)
	}
	signed := *b
	signed.SignedBy = Key{}
	if signed.Signatures, err = json.Marshal(bundle.SignaturesConfig{Signatures: []string{token}}); err != nil {
		return nil, fmt.Errorf("sign the bundle: %w", err)
	}
	return &signed, nil
}
