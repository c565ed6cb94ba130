package bundles

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"slices"

	"github.com/writ-policy/writ/translator/footprint"
)

// revision returns the hash of the files that affect decisions: paths and contents, each
// after its length, in the order of the paths.
func revision(files map[string][]byte) string {
	return digest(files, func(path string) bool { return !IsTest(path) })
}

// RegoHash returns a hash of the Rego in the bundle, tests included. Bundles with the same
// hash differ only in data, so Check returns the same for them.
func (b *Bundle) RegoHash() string {
	return digest(b.Files, func(path string) bool { return path != DataPath && path != footprint.Path })
}

// Hash returns a hash of the files that isIncluded selects by their paths.
func (b *Bundle) Hash(isIncluded func(path string) bool) string { return digest(b.Files, isIncluded) }

func digest(files map[string][]byte, isIncluded func(path string) bool) string {
	h := sha256.New()
	var length [8]byte
	write := func(content []byte) {
		binary.BigEndian.PutUint64(length[:], uint64(len(content)))
		h.Write(length[:])
		h.Write(content)
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if isIncluded(path) {
			write([]byte(path))
			write(files[path])
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}
