package directory

import (
	"fmt"
	"slices"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
)

// Related returns the declaration of the name, for a diagnostic that refers to it.
func Related(h *syntax.Header) []diag.Related {
	return []diag.Related{{Position: h.NameAt, Message: fmt.Sprintf("%s is declared here", Title(h))}}
}

// Identity identifies a document. Documents of different families have different
// identities.
type Identity struct {
	Family, Kind, Namespace, Name string
}

// Names indexes the first document of each identity. It is reused from one directory to
// the next.
type Names struct {
	documents []syntax.Document // in the order of positions
	first     *index
	contested map[Identity]bool // identities of more than one document
	counts    map[kindOf]int    // documents of each kind, without those that are only for tests
	policies  int               // documents that are policy
}

// kindOf is the kind of a document.
type kindOf struct{ family, kind string }

// IdentityOf returns the identity of a document.
func IdentityOf(h *syntax.Header) Identity {
	return Identity{Family: h.Family, Kind: h.Kind, Namespace: h.Namespace, Name: h.Name}
}

// update replaces the documents, which are in the order of positions, and returns those that
// were added or removed. If several documents share an identity, the first is searched again
// from scratch; that is an error and therefore rare.
func (n *Names) update(documents []syntax.Document) (changed []syntax.Document) {
	if n.first == nil {
		n.first = newIndex(len(documents))
		n.contested = make(map[Identity]bool)
		n.counts = make(map[kindOf]int)
	}
	gone, come := Changes(n.documents, documents, func(a, b syntax.Document) bool { return a == b })
	n.documents = documents
	for _, d := range gone {
		n.count(d.Meta(), -1)
		if id := IdentityOf(d.Meta()); n.find(id) == d {
			n.first.remove(id)
		}
	}
	for _, d := range come {
		n.count(d.Meta(), 1)
		if !d.Meta().Shared && !n.first.add(d) {
			n.contested[IdentityOf(d.Meta())] = true
		}
	}
	if len(n.contested) > 0 {
		n.contest()
	}
	return append(gone, come...)
}

// find returns the first document of an identity, nil if no document has it.
func (n *Names) find(id Identity) syntax.Document {
	if n.first == nil {
		return nil
	}
	d, _ := n.first.find(id)
	return d
}

// count adds a document to the counts, or takes it away. Roles that every API server has are
// counted with no directory.
func (n *Names) count(h *syntax.Header, by int) {
	if h.Bootstrap {
		return
	}
	if !h.Auxiliary {
		n.policies += by
	}
	if !h.TestOnly {
		n.counts[kindOf{h.Family, h.Kind}] += by
	}
}

// contest finds the first documents of contested identities.
func (n *Names) contest() {
	doubtful := n.contested
	n.contested = make(map[Identity]bool)
	for id := range doubtful {
		n.first.remove(id)
	}
	for _, d := range n.documents {
		if id := IdentityOf(d.Meta()); !d.Meta().Shared && doubtful[id] && !n.first.add(d) {
			n.contested[id] = true
		}
	}
}

// Title returns the name of a document for messages: kind and name, and the namespace if
// it has one.
func Title(h *syntax.Header) string {
	if h.Namespace == "" {
		return fmt.Sprintf("%s %q", h.Kind, h.Name)
	}
	return fmt.Sprintf("%s %q in namespace %q", h.Kind, h.Name, h.Namespace)
}

// MaxSuggestions bounds the searches for near names in one run, because each search
// compares every role.
const MaxSuggestions = 10

// farthest is the largest difference in length of two near names.
const farthest = 3

// Near returns the role with the name nearest to want among the roles for which fits
// returns true, or nil if no name is close.
func Near[D syntax.Document](d *Directory, want string, roles []D, fits func(*syntax.Header) bool) *syntax.Header {
	if !d.MaySuggest() {
		return nil
	}
	byName := make(map[string]*syntax.Header)
	var names []string
	for _, role := range roles {
		h := role.Meta()
		if fits(h) && len(h.Name) <= len(want)+farthest && len(want) <= len(h.Name)+farthest {
			byName[h.Name] = h
			names = append(names, h.Name)
		}
	}
	return byName[diag.Suggest(want, names)]
}

// inOrder returns the documents in the order of their positions. Documents of a snapshot are
// sorted already, so this rarely needs to sort; and what the last directory had, in the same
// order before and after what changed, is not compared again.
func (n *Names) inOrder(documents []syntax.Document) []syntax.Document {
	from, end := 0, len(documents)
	for from < min(end, len(n.documents)) && documents[from] == n.documents[from] {
		from++
	}
	for last := len(n.documents); end > from && last > from && documents[end-1] == n.documents[last-1]; last-- {
		end--
	}
	if slices.IsSortedFunc(documents[max(from-1, 0):min(end+1, len(documents))], ComparePositions) {
		return documents
	}
	out := slices.Clone(documents)
	slices.SortStableFunc(out, ComparePositions)
	return out
}

// ComparePositions orders documents by file, line and column.
func ComparePositions(a, b syntax.Document) int { return a.Meta().At.Compare(b.Meta().At) }

// Changes compares two lists in the order of positions. It returns the documents that are
// only in before, and those that are only in now.
func Changes[D syntax.Document](before, now []D, same func(a, b D) bool) (gone, come []D) {
	if len(before) > 0 && len(before) == len(now) && &before[0] == &now[0] {
		return nil, nil // it is one list
	}
	for len(before) > 0 && len(now) > 0 {
		if same(before[0], now[0]) {
			before, now = before[1:], now[1:]
			continue
		}
		order := ComparePositions(before[0], now[0])
		if order <= 0 {
			gone, before = append(gone, before[0]), before[1:]
		}
		if order >= 0 {
			come, now = append(come, now[0]), now[1:]
		}
	}
	return append(gone, before...), append(come, now...)
}
