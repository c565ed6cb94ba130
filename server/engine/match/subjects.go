package match

import "github.com/writ-policy/writ/translator/tables"

// Subject reports whether bindings of a namespace, or cluster-wide ones if it is empty,
// name the user or group, and what the restrictions of their rules read.
func (t *Tree) Subject(namespace string, group bool, name string) (reads tables.Reads, isBound bool) {
	b, isBound := t.bySubject.find(boundSubject{namespace, group, name})
	return b.reads, isBound
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
