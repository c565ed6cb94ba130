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

// content is what a file has.
type content interface {
	// hash returns the hash of the file with a path, as OPA has it.
	hash(path string, h hash.Hash) (string, error)
}

// text is the content of a file in memory.
type text []byte

func (t text) hash(path string, h hash.Hash) (string, error) { return fileHash(path, t, h) }

// contentsOf returns the contents of files, those of the data included.
func contentsOf(files map[string][]byte, data *dataFile) map[string]content {
	all := make(map[string]content, len(files)+2)
	for path, content := range files {
		all[path] = text(content)
	}
	if data != nil {
		all[dataPath] = data
	}
	return all
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
	h.Write(new(canonical).appendWhole(nil, bytes.TrimSpace(content)))
	return hex.EncodeToString(h.Sum(nil)), nil
}
