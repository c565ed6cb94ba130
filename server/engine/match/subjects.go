package match

import (
	"maps"

	"github.com/writ-policy/writ/translator/tables"
)

// subjects are the users and groups that bindings name, for projections: one look-up
// answers for the cluster and for a namespace. Like shards it is immutable.
type subjects struct {
	users, groups [shardCount]map[string]*subject
}

// subject is where bindings name a user or group, and what the restrictions of their
// rules read there.
type subject struct {
	isClusterWide bool
	cluster       tables.Reads
	namespaces    map[string]tables.Reads
}

// Subject reports whether cluster-wide bindings name the user or group, whether bindings
// of the namespace do, and what the restrictions of all their rules read.
func (t *Tree) Subject(namespace string, group bool, name string) (reads tables.Reads, isClusterWide, isLocal bool) {
	list := &t.subjects.users
	if group {
		list = &t.subjects.groups
	}
	s := list[nameShard(name)][name]
	if s == nil {
		return 0, false, false
	}
	local, isLocal := s.namespaces[namespace]
	return s.cluster | local, s.isClusterWide, isLocal
}

// nameShard distributes names by their ends, where numbered names differ.
func nameShard(name string) uint32 {
	h := uint32(len(name))
	for i := max(0, len(name)-8); i < len(name); i++ {
		h = h*31 + uint32(name[i])
	}
	return h % shardCount
}

// IsChanged reports whether the rules of a subject may differ from those in the tree that
// this one was built from.
func (t *Tree) IsChanged(namespace string, group bool, name string) bool {
	if t.anew {
		return true
	}
	_, changed := t.changed[boundSubject{namespace, group, name}]
	return changed
}

// subjectEdit changes a copy of subjects. It copies what is shared when it first changes.
type subjectEdit struct {
	subjects
	ownShards   map[*[shardCount]map[string]*subject]map[uint32]bool
	ownSubjects map[*subject]bool
}

func (s subjects) edit() *subjectEdit {
	return &subjectEdit{subjects: s, ownShards: make(map[*[shardCount]map[string]*subject]map[uint32]bool), ownSubjects: make(map[*subject]bool)}
}

// set records what the bindings of a subject read in a namespace; isBound is false if
// there are none.
func (e *subjectEdit) set(h boundSubject, reads tables.Reads, isBound bool) {
	s := e.owned(h)
	switch {
	case h.namespace == "":
		s.isClusterWide, s.cluster = isBound, reads
	case isBound && s.namespaces == nil:
		s.namespaces = map[string]tables.Reads{h.namespace: reads}
	case isBound:
		s.namespaces[h.namespace] = reads
	default:
		delete(s.namespaces, h.namespace)
	}
	if !s.isClusterWide && len(s.namespaces) == 0 {
		delete(e.sameKind(h)[nameShard(h.name)], h.name)
	}
}

// sameKind returns the subjects of the same kind: users or groups.
func (e *subjectEdit) sameKind(h boundSubject) *[shardCount]map[string]*subject {
	if h.group {
		return &e.groups
	}
	return &e.users
}

// owned returns the subject to be changed.
func (e *subjectEdit) owned(h boundSubject) *subject {
	list, at := e.sameKind(h), nameShard(h.name)
	if e.ownShards[list] == nil {
		e.ownShards[list] = make(map[uint32]bool)
	}
	if !e.ownShards[list][at] {
		e.ownShards[list][at] = true
		if list[at] = maps.Clone(list[at]); list[at] == nil {
			list[at] = make(map[string]*subject)
		}
	}
	s := list[at][h.name]
	if s != nil && e.ownSubjects[s] {
		return s
	}
	own := new(subject)
	if s != nil {
		*own = *s
		own.namespaces = maps.Clone(s.namespaces)
	}
	e.ownSubjects[own] = true
	list[at][h.name] = own
	return own
}
