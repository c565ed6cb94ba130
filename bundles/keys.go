package bundles

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
)

// KeyState defines what a key is accepted for.
type KeyState string

// The states in the order of a key's life. A builder signs with an active key. A reader
// accepts active and next keys, so that readers can know a key before the first bundle that
// it signs, and rejects revoked keys.
const (
	keyNext    KeyState = "next"
	keyActive  KeyState = "active"
	KeyRevoked KeyState = "revoked"
)

// Key is a public key that verifies signatures of bundles.
type Key struct {
	ID        string
	State     KeyState
	Algorithm string // a name of JSON Web Signatures: ES256, RS256, ...
	PEM       string

	public crypto.PublicKey
}

// Keys are the keys of a file, as of its last valid version. The zero value has no keys and
// accepts no signature. Keys are safe for concurrent use.
type Keys struct {
	path string

	mu    sync.Mutex        // held to read the files
	files map[string][]byte // contents of the keys file and the files it names, by path
	set   atomic.Pointer[keySet]
}

// keySet holds keys by ID. It is immutable.
type keySet map[string]Key

// current returns the keys of the last valid version; nil for the zero value.
func (k *Keys) current() keySet {
	if set := k.set.Load(); set != nil {
		return *set
	}
	return nil
}

// keysFile is the content of a keys file.
type keysFile struct {
	Keys []struct {
		ID            string   `yaml:"id"`
		State         KeyState `yaml:"state"`
		Algorithm     string   `yaml:"algorithm"`
		PublicKey     string   `yaml:"publicKey"`
		PublicKeyFile string   `yaml:"publicKeyFile"`
	} `yaml:"keys"`
}

// ReadKeys reads a YAML file of keys. Each public key is inline PEM or a file, whose path is
// relative to the keys file. It returns an error if a file cannot be read, the YAML has an
// unknown field or no key, an ID or a public key is used twice, or a key does not match its
// algorithm.
func ReadKeys(path string) (*Keys, error) {
	k := &Keys{path: path}
	_, err := k.Reload()
	var at *fs.PathError
	switch {
	case errors.As(err, &at): // err names the file
		return nil, fmt.Errorf("read keys: %w", err)
	case err != nil:
		return nil, fmt.Errorf("read keys: %s: %w", path, err)
	}
	return k, nil
}

// Reload reads the file again and reports whether it, or a file that it names, changed. It
// returns the errors of ReadKeys; the keys then stay as they were. Bundles that were read
// before are not verified again.
func (k *Keys) Reload() (changed bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.isUnchanged() {
		return false, nil
	}
	files := make(map[string][]byte)
	read := func(path string) ([]byte, error) {
		content, err := os.ReadFile(path)
		files[path] = content
		return content, err
	}
	content, err := read(k.path)
	if err != nil {
		return false, err
	}
	set, err := parseKeys(content, filepath.Dir(k.path), read)
	if err != nil {
		return false, err
	}
	k.files = files
	k.set.Store(&set)
	return true, nil
}

// isUnchanged reports whether every file still has the content of the last valid version.
func (k *Keys) isUnchanged() bool {
	for path, before := range k.files {
		content, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(content, before) {
			return false
		}
	}
	return len(k.files) > 0
}

func parseKeys(content []byte, dir string, read func(path string) ([]byte, error)) (keySet, error) {
	var file keysFile
	if block, _ := pem.Decode(content); block != nil {
		return nil, errors.New("the file must be YAML, not a key: keys: [{id: NAME, state: active, algorithm: ES256, publicKeyFile: PATH}]")
	}
	if err := syntax.DecodeStrict(content, &file); err != nil {
		return nil, err
	}
	if len(file.Keys) == 0 {
		return nil, errors.New("keys must not be empty: no bundle would be accepted")
	}
	keys := keySet{}
	for i, entry := range file.Keys {
		if entry.ID == "" {
			return nil, fmt.Errorf("keys[%d]: id is required", i)
		}
		text, err := readKeyText(entry.PublicKey, entry.PublicKeyFile, dir, read)
		if err != nil {
			return nil, fmt.Errorf("key %q: %w", entry.ID, err)
		}
		key := Key{ID: entry.ID, State: entry.State, Algorithm: entry.Algorithm, PEM: text}
		if err := keys.add(key); err != nil {
			return nil, fmt.Errorf("key %q: %w", entry.ID, err)
		}
	}
	return keys, nil
}

func readKeyText(inline, file, dir string, read func(path string) ([]byte, error)) (string, error) {
	switch {
	case inline != "" && file != "":
		return "", errors.New("publicKey and publicKeyFile must not both be set")
	case inline != "":
		return inline, nil
	case file == "":
		return "", errors.New("publicKey or publicKeyFile is required")
	case !filepath.IsAbs(file):
		file = filepath.Join(dir, file)
	}
	content, err := read(file)
	return string(content), err
}

// add returns an error if the key is invalid, or another key has its ID or its public key:
// under a second ID, a revoked key would be accepted again.
func (k keySet) add(key Key) error {
	states := []string{string(keyActive), string(keyNext), string(KeyRevoked)}
	if !slices.Contains(states, string(key.State)) {
		return fmt.Errorf("unknown state %q: %s", key.State, suggest(string(key.State), states))
	}
	if _, ok := k[key.ID]; ok {
		return errors.New("duplicate id")
	}
	public, err := parsePublicKey(key.PEM)
	if err != nil {
		return err
	}
	if err := checkAlgorithm(key.Algorithm, public); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(k)) {
		if isSameKey(k[id].public, public) {
			return fmt.Errorf("duplicate public key: key %q has it too", id)
		}
	}
	key.public = public
	k[key.ID] = key
	return nil
}

// algorithms are OPA's algorithms with a public key. With a shared secret, every reader of
// bundles could sign one.
var algorithms = []string{"ES256", "ES384", "ES512", "PS256", "PS384", "PS512", "RS256", "RS384", "RS512"}

var curves = map[string]elliptic.Curve{"ES256": elliptic.P256(), "ES384": elliptic.P384(), "ES512": elliptic.P521()}

// checkAlgorithm returns an error if the algorithm is not supported or does not match the
// key.
func checkAlgorithm(algorithm string, public crypto.PublicKey) error {
	if strings.HasPrefix(algorithm, "HS") {
		return fmt.Errorf("algorithm %s uses a shared secret, with which every reader could sign", algorithm)
	}
	if !slices.Contains(algorithms, algorithm) {
		return fmt.Errorf("unknown algorithm %q: %s", algorithm, suggest(algorithm, algorithms))
	}
	switch public := public.(type) {
	case *ecdsa.PublicKey:
		if public.Curve != curves[algorithm] {
			return fmt.Errorf("algorithm %s does not match a key on curve %s", algorithm, public.Curve.Params().Name)
		}
	case *rsa.PublicKey:
		const minBits = 2048
		if curves[algorithm] != nil {
			return fmt.Errorf("algorithm %s does not match an RSA key", algorithm)
		}
		if bits := public.N.BitLen(); bits < minBits {
			return fmt.Errorf("an RSA key must have at least %d bits, not %d", minBits, bits)
		}
	}
	return nil
}

// suggest returns the end of a message: a question with the most similar name, or all names.
func suggest(got string, known []string) string {
	return diag.Meant(got, known, "must be one of "+strings.Join(known, ", "))
}

// parsePublicKey parses the PEM forms that OPA accepts. It returns an error for a private
// key: readers of bundles must not have one.
func parsePublicKey(text string) (crypto.PublicKey, error) {
	block, rest := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("the public key must be PEM")
	}
	if len(bytes.TrimSpace(rest)) > 0 {
		return nil, errors.New("the PEM must have one public key and nothing else")
	}
	var public crypto.PublicKey
	var err error
	switch block.Type {
	case "PUBLIC KEY":
		public, err = x509.ParsePKIXPublicKey(block.Bytes)
	case "RSA PUBLIC KEY":
		public, err = x509.ParsePKCS1PublicKey(block.Bytes)
	case "CERTIFICATE":
		var certificate *x509.Certificate
		if certificate, err = x509.ParseCertificate(block.Bytes); err == nil {
			public = certificate.PublicKey
		}
	default:
		return nil, fmt.Errorf("the PEM must be a PUBLIC KEY, not a %s", strings.ToLower(block.Type))
	}
	if err != nil {
		return nil, fmt.Errorf("invalid public key: %w", err)
	}
	switch public.(type) {
	case *ecdsa.PublicKey, *rsa.PublicKey:
		return public, nil
	}
	return nil, errors.New("the public key must be RSA or on a NIST elliptic curve")
}

func isSameKey(a, b crypto.PublicKey) bool {
	known, ok := a.(interface{ Equal(crypto.PublicKey) bool })
	return ok && known.Equal(b)
}

// Find returns the key with the given ID.
func (k *Keys) Find(id string) (Key, bool) {
	key, ok := k.current()[id]
	return key, ok
}

// State returns the current state of a key that signed a bundle, and KeyRevoked if it is no
// longer one of the keys. Keys are compared by public key, not by ID.
func (k *Keys) State(key Key) KeyState {
	for _, known := range k.current() {
		if isSameKey(known.public, key.public) {
			return known.State
		}
	}
	return KeyRevoked
}
