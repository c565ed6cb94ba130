package bundles

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"slices"
)

// revision is the hash of what decides: path and content of each file, each with
// its length before it, in the order of the paths.
func revision(files map[string][]byte) string {
	return digest(files, func(path string) bool { return !IsTest(path) })
}

// Rules is a hash of the bundle's Rego alone, tests included. Bundles with one
// hash differ in data at most, so what Check says of one it says of the other.
func (b *Bundle) Rules() string {
	return digest(b.Files, func(path string) bool { return path != DataPath })
}

func digest(files map[string][]byte, counts func(path string) bool) string {
	h := sha256.New()
	var length [8]byte
	part := func(content []byte) {
		binary.BigEndian.PutUint64(length[:], uint64(len(content)))
		h.Write(length[:])
		h.Write(content)
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if counts(path) {
			part([]byte(path))
			part(files[path])
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}
