package cache

import (
	"encoding/binary"

	"github.com/writ-policy/writ/server/decision"
)

// keyOf is the key of a request at a revision.
func keyOf(revision string, r *decision.Request) string {
	var room [1024]byte
	b := append(binary.AppendUvarint(room[:0], uint64(len(revision))), revision...)
	return string(r.AppendCanonical(b))
}

// weigh is about how many bytes an entry keeps alive. Strings that decisions
// share with the engine are counted as if they were not: too much is safe.
func weigh(key string, d *decision.Decision) int {
	const anEntry, aMatch = 400, 220
	weight := anEntry + len(key) + len(d.Reason)
	for _, warning := range d.Warnings {
		weight += len(warning) + 16
	}
	for i := range d.Matched {
		m := &d.Matched[i]
		weight += aMatch + len(m.Namespace) + len(m.Name) + len(m.Source)
		if m.Role != nil {
			weight += len(m.Role.Namespace) + len(m.Role.Name)
		}
	}
	return weight
}
