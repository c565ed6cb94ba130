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
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"go.yaml.in/yaml/v3"

	"github.com/writ-policy/writ/translator/diag"
)

// KeyState is what may be done with a key.
type KeyState string

// The states in the order of a key's life. A builder signs by an active key. A
// reader accepts active and next ones, so that readers know a key before the first
// bundle comes that is signed by it, and nothing that a revoked one has signed.
const (
	KeyNext    KeyState = "next"
	KeyActive  KeyState = "active"
	KeyRevoked KeyState = "revoked"
)

// Key is a public key bundles may be signed by.
type Key struct {
	ID        string
	State     KeyState
	Algorithm string // of JSON Web Signatures: ES256, RS256, ...
	PEM       string

	public crypto.PublicKey
}

// Keys are several keys by their ID, as their file last was in order. The zero value
// has none, and accepts nothing. They are safe for concurrent use.
type Keys struct {
	path string // of the file; empty where they are of none

	mu    sync.Mutex        // held to read the files
	files map[string][]byte // what was read: the file, and those of single keys
	set   atomic.Pointer[keySet]
}

// keySet is keys by their ID. It is never changed once it is used.
type keySet map[string]Key

// now is the keys as they are at this moment.
func (k *Keys) now() keySet {
	if set := k.set.Load(); set != nil {
		return *set
	}
	return nil
}

// keysFile is the form of a file of keys.
type keysFile struct {
	Keys []struct {
		ID            string   `yaml:"id"`
		State         KeyState `yaml:"state"`
		Algorithm     string   `yaml:"algorithm"`
		PublicKey     string   `yaml:"publicKey"`
		PublicKeyFile string   `yaml:"publicKeyFile"`
	} `yaml:"keys"`
}

// ReadKeys reads a YAML file of keys. A public key stands in it as PEM, or in a file
// of its own whose path is relative to that of the keys.
func ReadKeys(path string) (*Keys, error) {
	k := &Keys{path: path}
	_, err := k.Reload()
	var at *fs.PathError
	switch {
	case errors.As(err, &at): // it names the file
		return nil, fmt.Errorf("read keys: %w", err)
	case err != nil:
		return nil, fmt.Errorf("read keys: %s: %w", path, err)
	}
	return k, nil
}

// Reload reads the file again and says whether it, or a file it names, was another
// than before. Its errors name a file only where it could not be read. After one the
// keys are those of the files as they last were in order. A bundle that was read
// before stays read.
func (k *Keys) Reload() (changed bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.untouched() {
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

// untouched reports whether every file is what it was when all were in order.
func (k *Keys) untouched() bool {
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
		return nil, errors.New("a key itself, not a file of keys; that is YAML: keys: [{id: NAME, state: active, algorithm: ES256, publicKeyFile: PATH}]")
	}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	decoder.KnownFields(true)
	if err := decoder.Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if err := decoder.Decode(&struct{}{}); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one YAML document")
	}
	if len(file.Keys) == 0 {
		return nil, errors.New("no keys; nothing could be accepted")
	}
	keys := keySet{}
	for i, entry := range file.Keys {
		if entry.ID == "" {
			return nil, fmt.Errorf("keys[%d]: no id", i)
		}
		text, err := keyText(entry.PublicKey, entry.PublicKeyFile, dir, read)
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

func keyText(inline, file, dir string, read func(path string) ([]byte, error)) (string, error) {
	switch {
	case inline != "" && file != "":
		return "", errors.New("publicKey and publicKeyFile: only one of them can be the key")
	case inline != "":
		return inline, nil
	case file == "":
		return "", errors.New("no publicKey and no publicKeyFile")
	case !filepath.IsAbs(file):
		file = filepath.Join(dir, file)
	}
	content, err := read(file)
	return string(content), err
}

// add takes a key that is told from all others by ID and by content: under a second
// ID, a revoked key would sign again.
func (k keySet) add(key Key) error {
	states := []string{string(KeyActive), string(KeyNext), string(KeyRevoked)}
	if !slices.Contains(states, string(key.State)) {
		return fmt.Errorf("state %q: %s", key.State, oneOf(string(key.State), states))
	}
	if _, ok := k[key.ID]; ok {
		return errors.New("the id twice")
	}
	public, err := parsePublic(key.PEM)
	if err != nil {
		return err
	}
	if err := fits(key.Algorithm, public); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(k)) {
		if same(k[id].public, public) {
			return fmt.Errorf("the same public key as %q", id)
		}
	}
	key.public = public
	k[key.ID] = key
	return nil
}

// algorithms are those of OPA that have a public key. With a shared secret everybody
// who can read a bundle could sign one.
var algorithms = []string{"ES256", "ES384", "ES512", "PS256", "PS384", "PS512", "RS256", "RS384", "RS512"}

var curves = map[string]elliptic.Curve{"ES256": elliptic.P256(), "ES384": elliptic.P384(), "ES512": elliptic.P521()}

// fits refuses an algorithm that is not the key's.
func fits(algorithm string, public crypto.PublicKey) error {
	if strings.HasPrefix(algorithm, "HS") {
		return fmt.Errorf("algorithm %s has a shared secret, by which every reader could sign", algorithm)
	}
	if !slices.Contains(algorithms, algorithm) {
		return fmt.Errorf("algorithm %q: %s", algorithm, oneOf(algorithm, algorithms))
	}
	switch public := public.(type) {
	case *ecdsa.PublicKey:
		if public.Curve != curves[algorithm] {
			return fmt.Errorf("algorithm %s does not go with a key on %s", algorithm, public.Curve.Params().Name)
		}
	case *rsa.PublicKey:
		const least = 2048
		if curves[algorithm] != nil {
			return fmt.Errorf("algorithm %s does not go with an RSA key", algorithm)
		}
		if bits := public.N.BitLen(); bits < least {
			return fmt.Errorf("an RSA key of %d bits, of at least %d", bits, least)
		}
	}
	return nil
}

func oneOf(got string, known []string) string {
	if near := diag.Suggest(got, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "one of " + strings.Join(known, ", ")
}

// parsePublic reads what OPA reads of a public key. A private one is refused: it has
// no place where bundles are read.
func parsePublic(text string) (crypto.PublicKey, error) {
	block, rest := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("the public key is not PEM")
	}
	if len(bytes.TrimSpace(rest)) > 0 {
		return nil, errors.New("something follows the public key")
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
		return nil, fmt.Errorf("PEM of a %s, not of a PUBLIC KEY", strings.ToLower(block.Type))
	}
	if err != nil {
		return nil, fmt.Errorf("the public key: %w", err)
	}
	switch public.(type) {
	case *ecdsa.PublicKey, *rsa.PublicKey:
		return public, nil
	}
	return nil, errors.New("the public key is neither RSA nor on an elliptic curve of NIST")
}

func same(a, b crypto.PublicKey) bool {
	known, ok := a.(interface{ Equal(crypto.PublicKey) bool })
	return ok && known.Equal(b)
}

// Find is the key of an ID.
func (k *Keys) Find(id string) (Key, bool) {
	key, ok := k.now()[id]
	return key, ok
}

// State is what may be done now with a key by which a bundle was found to be signed;
// KeyRevoked too where it is not one of the keys any more. It is told by its content:
// another key under the same ID is another key.
func (k *Keys) State(key Key) KeyState {
	for _, known := range k.now() {
		if same(known.public, key.public) {
			return known.State
		}
	}
	return KeyRevoked
}
