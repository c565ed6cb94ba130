package match

import (
	"hash/maphash"
	"math/bits"
	"slices"

	"github.com/writ-policy/writ/translator/tables"
)

// subjects are the users and groups that bindings name and what the restrictions of their
// rules read, for projections, which look up all subjects of each request. An entry is a
// hash and, in its lowest byte, a tables.Reads, so that a look-up reads one line of memory. Most find
// nothing, which the filter says in a sixteenth of the memory: the CPU's caches hold it.
//
// Two subjects with one hash share an entry, and an entry is never removed. Both make the
// projection keep a name that it need not keep, which does no harm.
type subjects struct {
	entries     []uint64 // zero is free; half of them are, and their number is a power of two
	filter      []uint64 // four bits for each entry; those of hashes in entries are set
	used, stale int      // stale counts removed subjects whose entries are still there
}

// Subject reports whether cluster-wide bindings name the user or group, whether bindings
// of the namespace do, and what the restrictions of all their rules read. It may report
// more than there is.
func (t *Tree) Subject(namespace string, group bool, name string) (reads tables.Reads, isClusterWide, isLocal bool) {
	hash := boundSubject{"", group, name}.hash()
	cluster, isClusterWide := t.subjects.find(hash)
	if namespace == "" {
		return cluster, isClusterWide, false
	}
	local, isLocal := t.subjects.find(hashNamespace(namespace).hashIn(hash))
	return cluster | local, isClusterWide, isLocal
}

// hash returns the hash of a subject, which is never zero without its lowest byte.
func (s boundSubject) hash() uint64 {
	hash := maphash.String(shardSeed, s.name)
	if s.group {
		hash = ^hash
	}
	if s.namespace != "" {
		hash = hashNamespace(s.namespace).hashIn(hash)
	}
	return hash | 1<<63
}

// hashedNamespace is the hash of the name of a namespace.
type hashedNamespace uint64

func hashNamespace(name string) hashedNamespace {
	return hashedNamespace(bits.RotateLeft64(maphash.String(shardSeed, name), 32))
}

// hashIn returns the hash in the namespace of a subject with a hash in the cluster.
func (n hashedNamespace) hashIn(hash uint64) uint64 { return hash ^ uint64(n) | 1<<63 }

const readsMask = 1<<8 - 1

// at returns the place of a hash, or the free place for it.
func (s *subjects) at(hash uint64) int {
	mask := len(s.entries) - 1
	i := int(hash>>8) & mask
	for s.entries[i] != 0 && (s.entries[i]^hash)&^readsMask != 0 {
		i = (i + 1) & mask
	}
	return i
}

// word returns the word of the filter that has the bit of a hash.
func (s *subjects) word(hash uint64) *uint64 { return &s.filter[hash>>30&uint64(len(s.filter)-1)] }

func bitOf(hash uint64) uint64 { return 1 << (hash >> 57 & 63) }

func (s *subjects) find(hash uint64) (tables.Reads, bool) {
	if len(s.entries) == 0 || *s.word(hash)&bitOf(hash) == 0 {
		return 0, false
	}
	entry := s.entries[s.at(hash)]
	return tables.Reads(entry & readsMask), entry != 0
}

// add adds a subject to a copy that add owns.
func (s *subjects) add(hash uint64, reads tables.Reads) {
	if 2*s.used >= len(s.entries) {
		s.grow()
	}
	i := s.at(hash)
	if s.entries[i] == 0 {
		s.entries[i] = hash &^ readsMask
		*s.word(hash) |= bitOf(hash)
		s.used++
	}
	s.entries[i] |= uint64(reads)
}

func (s *subjects) grow() {
	old := s.entries
	s.entries = make([]uint64, max(16, 2*len(old)))
	s.filter = make([]uint64, len(s.entries)/16)
	for _, entry := range old {
		if entry != 0 {
			s.entries[s.at(entry)] = entry
			*s.word(entry) |= bitOf(entry)
		}
	}
}

// clone returns a copy to be changed.
func (s *subjects) clone() *subjects {
	return &subjects{slices.Clone(s.entries), slices.Clone(s.filter), s.used, s.stale}
}

// IsChanged reports whether the rules of a subject may differ from those in another tree. Trees
// that were built one from the other share the rows that did not change.
func (t *Tree) IsChanged(before *Tree, namespace string, group bool, name string) bool {
	now, _ := t.bySubject.find(boundSubject{namespace, group, name})
	was, _ := before.bySubject.find(boundSubject{namespace, group, name})
	return !slices.Equal(now, was)
}
