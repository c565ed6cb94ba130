package directory

import (
	"hash/maphash"
	"slices"

	"github.com/writ-policy/writ/translator/diag"
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

// Mark is a moment in the life of a directory.
type Mark struct{ diagnostics, suggested int }

// Added is what following references added to a directory.
type Added struct {
	list      diag.List
	suggested int
}

// Mark returns the present moment.
func (d *Directory) Mark() Mark { return Mark{len(d.List), d.suggested} }

// AddedSince returns what was added since a moment.
func (d *Directory) AddedSince(m Mark) Added {
	return Added{slices.Clone(d.List[m.diagnostics:]), d.suggested - m.suggested}
}

// AddAgain adds what was added to an earlier directory.
func (d *Directory) AddAgain(a Added) {
	d.List = append(d.List, a.list...)
	d.suggested += a.suggested
}

// Unchanged reports whether a family may use what it made of the last directory. The zero value has
// seen none. It is not safe for concurrent use.
type Unchanged struct {
	seen  bool // and made without an error
	of    given
	added Added
}

// given is what of a directory all its documents are read with.
type given struct {
	master, cluster, impliedGroups string
	partial                        bool
}

func (d *Directory) given() given { return given{d.Master, d.Cluster, d.ImpliedGroups, d.Partial} }

// Holds reports whether a directory has no other document that isRead than the last one. Then it
// adds the diagnostics of the last one.
func (u *Unchanged) Holds(d *Directory, isRead func(syntax.Document) bool) bool {
	if !u.seen || u.of != d.given() || !d.isPlain() || slices.ContainsFunc(d.Changed, isRead) {
		return false
	}
	d.AddAgain(u.added)
	return true
}

// Keep remembers what the family added to a directory since a moment, at which it began.
func (u *Unchanged) Keep(d *Directory, since Mark) {
	*u = Unchanged{!d.List.HasErrors() && d.isPlain(), d.given(), d.AddedSince(since)}
}

// isPlain reports whether every document was read and has an identity of its own.
func (d *Directory) isPlain() bool { return len(d.undecoded)+len(d.Repeated) == 0 }
