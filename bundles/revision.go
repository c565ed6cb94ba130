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
	h := sha256.New()
	var length [8]byte
	part := func(content []byte) {
		binary.BigEndian.PutUint64(length[:], uint64(len(content)))
		h.Write(length[:])
		h.Write(content)
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if IsTest(path) {
			continue
		}
		part([]byte(path))
		part(files[path])
	}
	return hex.EncodeToString(h.Sum(nil))
}
