package bundles

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/open-policy-agent/opa/v1/bundle"
)

// SignaturesPath is the signature's place in a bundle.
const SignaturesPath = ".signatures.json"

// DefaultKeyID is the ID that OPA gives to a key whose ID nobody says.
const DefaultKeyID = "default"

// SigningKey is a private key to sign bundles by. Its fields are unexported: it must
// not get into a log.
type SigningKey struct {
	id        string
	algorithm string
	private   string // PEM
	public    crypto.PublicKey
}

// ID is what signatures call the key.
func (k *SigningKey) ID() string { return k.id }

// String names the key and says nothing of it.
func (k *SigningKey) String() string { return fmt.Sprintf("key %q", k.id) }

// GoString is String.
func (k *SigningKey) GoString() string { return k.String() }

// SigningOptions say which key signs. The zero value leaves it to the private key and
// to the keys.
type SigningOptions struct {
	// ID is what the signature calls the key. Empty: the one of Keys whose public
	// key it is, or DefaultKeyID where there are none.
	ID string
	// Algorithm of the signature. Empty: that of Keys, or the usual one of the key's
	// kind.
	Algorithm string
	// Keys are those readers have. If set, the key must be an active one of them.
	Keys *Keys
}

// ReadSigningKey reads a private key in PEM. The errors do not quote it.
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
	public, text, err := parsePrivate(content)
	if err != nil {
		return nil, err
	}
	key := &SigningKey{id: o.ID, algorithm: o.Algorithm, private: text, public: public}
	if o.Keys != nil {
		if err := key.among(o.Keys); err != nil {
			return nil, err
		}
	}
	if key.id == "" {
		key.id = DefaultKeyID
	}
	if key.algorithm == "" {
		key.algorithm = usual(public)
	}
	if err := fits(key.algorithm, public); err != nil {
		return nil, err
	}
	return key, nil
}

// among finds the key in those that readers have and holds it to what is said of it
// there: what is signed by another could not be read anywhere.
func (k *SigningKey) among(keys *Keys) error {
	set := keys.now()
	if k.id == "" {
		for _, id := range slices.Sorted(maps.Keys(set)) {
			if same(set[id].public, k.public) {
				k.id = id
			}
		}
		if k.id == "" {
			return errors.New("none of the keys has its public key")
		}
	}
	known, ok := set[k.id]
	switch {
	case !ok:
		return fmt.Errorf("%q is not one of the keys", k.id)
	case known.State != KeyActive:
		return fmt.Errorf("key %q is %s; only active keys sign", k.id, known.State)
	case !same(known.public, k.public):
		return fmt.Errorf("it does not belong to the public key of %q", k.id)
	case k.algorithm != "" && k.algorithm != known.Algorithm:
		return fmt.Errorf("key %q signs by %s, not %s", k.id, known.Algorithm, k.algorithm)
	}
	k.algorithm = known.Algorithm
	return nil
}

// parsePrivate is the key's public half, and its PEM without what stands around it.
func parsePrivate(content []byte) (crypto.PublicKey, string, error) {
	block, _ := pem.Decode(content)
	// The tools for elliptic curves write the curve's parameters first.
	for rest := content; block != nil && block.Type == "EC PARAMETERS"; {
		_, rest = pem.Decode(rest)
		block, _ = pem.Decode(rest)
	}
	if block == nil {
		return nil, "", errors.New("not PEM")
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
		return nil, "", errors.New("not the PEM of a private key")
	}
	if err != nil {
		return nil, "", errors.New("the private key cannot be read")
	}
	text := string(pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: block.Bytes}))
	switch private := private.(type) {
	case *ecdsa.PrivateKey:
		return &private.PublicKey, text, nil
	case *rsa.PrivateKey:
		return &private.PublicKey, text, nil
	}
	return nil, "", errors.New("the private key is neither RSA nor on an elliptic curve of NIST")
}

// usual is the algorithm of a kind of key.
func usual(public crypto.PublicKey) string {
	if elliptic, ok := public.(*ecdsa.PublicKey); ok {
		for algorithm, curve := range curves {
			if curve == elliptic.Curve {
				return algorithm
			}
		}
	}
	return "RS256"
}

// hashing is the algorithm the files of a signature are hashed by.
const hashing = bundle.SHA256

// Sign is the bundle with a signature in OPA's form over its manifest and all its
// files, generated tests included. An earlier signature is replaced. The bundle itself
// stays as it is.
func Sign(b *Bundle, key *SigningKey) (*Bundle, error) {
	manifest, err := b.Manifest.encode()
	if err != nil {
		return nil, fmt.Errorf("sign the bundle: %w", err)
	}
	hasher, err := bundle.NewSignatureHasher(hashing)
	if err != nil {
		return nil, fmt.Errorf("sign the bundle: %w", err)
	}
	files := make([]bundle.FileInfo, 0, len(b.Files)+1)
	add := func(path string, content []byte) error {
		value, err := hashed(path, content)
		if err != nil {
			return fmt.Errorf("sign %s: %w", path, err)
		}
		sum, err := hasher.HashFile(value)
		if err != nil {
			return fmt.Errorf("sign %s: %w", path, err)
		}
		files = append(files, bundle.NewFile(path, hex.EncodeToString(sum), string(hashing)))
		return nil
	}
	if err := add(ManifestPath, manifest); err != nil {
		return nil, err
	}
	for _, path := range slices.Sorted(maps.Keys(b.Files)) {
		if err := add(path, b.Files[path]); err != nil {
			return nil, err
		}
	}
	token, err := bundle.GenerateSignedToken(files, bundle.NewSigningConfig(key.private, key.algorithm, ""), key.id)
	if err != nil {
		return nil, fmt.Errorf("sign the bundle by %s: %w", key, err)
	}
	signed := *b
	signed.SignedBy = Key{}
	if signed.Signatures, err = json.Marshal(bundle.SignaturesConfig{Signatures: []string{token}}); err != nil {
		return nil, fmt.Errorf("sign the bundle: %w", err)
	}
	return &signed, nil
}

// hashed is what OPA hashes of a file: its bytes, or of JSON the value, so that a
// signature does not hang on white space.
func hashed(path string, content []byte) (any, error) {
	if !bundle.IsStructuredDoc(path) {
		return content, nil
	}
	var value any
	return value, decodeValue(content, &value)
}
