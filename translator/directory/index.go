package directory

import (
	"hash/maphash"

	"github.com/writ-policy/writ/translator/syntax"
)

// index holds documents by their identity. A map by hash is a third of one by identity, which
// would hold the names of each document once more.
type index struct {
	seed   maphash.Seed
	byHash map[uint64]syntax.Document
	others map[Identity]syntax.Document // those whose hash is that of another one
}

func newIndex(size int) *index {
	return &index{maphash.MakeSeed(), make(map[uint64]syntax.Document, size), make(map[Identity]syntax.Document)}
}

// find returns the document of an identity and its hash; nil for no document.
func (x *index) find(id Identity) (syntax.Document, uint64) {
	hash := maphash.Comparable(x.seed, id)
	if d := x.byHash[hash]; d != nil && IdentityOf(d.Meta()) == id {
		return d, hash
	}
	return x.others[id], hash
}

// add adds a document unless there is one of its identity, and reports whether it did.
func (x *index) add(d syntax.Document) bool {
	id := IdentityOf(d.Meta())
	switch found, hash := x.find(id); {
	case found != nil:
		return false
	case x.byHash[hash] == nil:
		x.byHash[hash] = d
	default:
		x.others[id] = d
	}
	return true
}

// remove removes the document of an identity.
func (x *index) remove(id Identity) {
	if found, hash := x.find(id); found != nil && x.byHash[hash] == found {
		delete(x.byHash, hash)
	}
	delete(x.others, id)
}
