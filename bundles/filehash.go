package bundles

import (
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"hash"

	"github.com/open-policy-agent/opa/v1/bundle"
)

// hashers are the accepted hash algorithms. OPA supports weaker ones, for which collisions
// are known.
var hashers = map[string]func() hash.Hash{
	"SHA-256": sha256.New, "SHA-384": sha512.New384, "SHA-512": sha512.New, "SHA-512-256": sha512.New512_256,
}

// fileHash returns what OPA hashes of a file: its bytes or, of a JSON file, the value with
// sorted keys and without white space. OPA decodes the file for that, which takes several
// times as long. It returns an error for a JSON file that checkJSON rejects.
func fileHash(path string, content []byte, h hash.Hash) (string, error) {
	if !bundle.IsStructuredDoc(path) {
		h.Write(content)
		return hex.EncodeToString(h.Sum(nil)), nil
	}
	if err := checkJSON(content); err != nil {
		return "", err
	}
	writeCanonical(h, bytes.TrimSpace(content))
	return hex.EncodeToString(h.Sum(nil)), nil
}
