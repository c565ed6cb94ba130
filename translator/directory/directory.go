package directory

import (
	"cmp"
	"fmt"
	"reflect"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
)

// defaultMaster is the name of the Origin master namespace unless one is set.
const defaultMaster = "master"

// MasterOr returns the master namespace that a setting states, or the default if it is
// empty.
func MasterOr(setting string) string {
	return cmp.Or(setting, defaultMaster)
}

// Options configure how the documents of a directory are combined.
type Options struct {
	// Master is the Origin master namespace; empty means defaultMaster.
	Master string
	// Cluster is the only cluster whose requests the documents are to decide; empty stands
	// for all.
	Cluster string
	// ImpliedGroups states whose groups are added to the user of a request; empty for none.
	ImpliedGroups string
	// SessionGroupPrefixes are put before the group of a session; each result counts as well.
	SessionGroupPrefixes []string
	// AllowEmpty accepts a directory without a single policy document.
	AllowEmpty bool
	// Points are the decision points that families answer, as decision tests name them.
	Points []string
	// Partial means that some file or document could not be read. Then absent documents
	// do not cause warnings, and the directory is not reported as empty.
	Partial bool
	// Undecoded are documents without an identity.
	Undecoded []syntax.Undecoded
}

// kindName is a kind in lower case with a name; an empty one stands for any.
type kindName struct{ kind, name string }

// Directory holds the documents of a directory, one for each identity. The families
// follow references in it and add diagnostics to it. It is not safe for concurrent use.
type Directory struct {
	// Copied from Options.
	Master        string
	Cluster       string
	ImpliedGroups string
	Points        []string
	// SessionGroupPrefixes must not be modified.
	SessionGroupPrefixes []string
	Partial              bool
	undecoded            []syntax.Undecoded
	undecodedBy          map[kindName]*syntax.Undecoded // made when it is first asked for
	// documents are in the order of positions. repeated are the documents with the
	// identity of an earlier one, which are not in documents.
	documents, Repeated []syntax.Document
	byType              map[reflect.Type][][]syntax.Document // parts of documents, in the same order
	// Changed are the documents added or removed since the previous directory of the
	// same Names.
	Changed []syntax.Document
	names   *Names
	List    diag.List
	// suggested counts the searches for a near name; see MaySuggest.
	suggested int
}

// NewDirectory combines documents, in any order, to a directory and updates the names.
// It retains the list, which must not be modified.
func (n *Names) NewDirectory(documents []syntax.Document, o Options) *Directory {
	o.Master = MasterOr(o.Master)
	documents = n.inOrder(documents)
	d := &Directory{
		Master: o.Master, Cluster: o.Cluster, ImpliedGroups: o.ImpliedGroups, Points: o.Points,
		SessionGroupPrefixes: o.SessionGroupPrefixes, Partial: o.Partial, undecoded: o.Undecoded,
		names: n, Changed: n.update(documents),
	}
	d.claim(documents)
	d.sort()
	if !o.AllowEmpty && !o.Partial && n.policies == 0 {
		d.List.Add(diag.Diagnostic{
			Code:    diag.NoDocuments,
			Message: "the directory holds no policy document",
			Hint:    "an unmounted volume looks like this; use --allow-empty if the directory is meant to be empty",
		})
	}
	return d
}

// claim separates the first document of each identity from the repeated ones, and
// reports the latter.
func (d *Directory) claim(documents []syntax.Document) {
	if len(d.names.contested) == 0 {
		d.documents = documents
		return
	}
	for _, document := range documents {
		h := document.Meta()
		first := d.names.find(IdentityOf(h))
		if h.Shared || first == document {
			d.documents = append(d.documents, document)
			continue
		}
		d.Duplicate(h, first.Meta(), Title(h)+" is declared twice")
		d.Repeated = append(d.Repeated, document)
	}
}

// Documents returns the documents in the order of positions, none if d is nil. The list
// must not be changed.
func (d *Directory) Documents() []syntax.Document {
	if d == nil {
		return nil
	}
	return d.documents
}

// Find returns the document with an identity, or nil.
func (d *Directory) Find(id Identity) syntax.Document { return d.names.find(id) }

// Counts returns how many documents there are of each family and kind, as "kubernetes/Role",
// containers and their contents included, and without decision tests and bootstrap roles.
func (d *Directory) Counts() map[string]int {
	out := make(map[string]int, len(d.names.counts))
	for k, n := range d.names.counts {
		if n > 0 {
			out[k.family+"/"+k.kind] = n
		}
	}
	return out
}

// IsUndecoded reports whether the document that a reference at a position names is one
// that failed to decode, and adds a warning that names it. The reference is not dangling. An
// empty name stands for any document of the kind.
func (d *Directory) IsUndecoded(at diag.Position, kind, name string) bool {
	u := d.findUndecoded(syntax.Fold(kind), name)
	if u == nil {
		return false
	}
	named := syntax.Text{Value: name, At: at}
	d.List.Add(named.Diagnostic(diag.Warning, diag.UndecodedReference, "correct it first", "%s %q at %s has mistakes", u.Kind, u.Name, u.At.Source()))
	return true
}

// findUndecoded returns the first document without an identity of a kind in lower case and a name, or of
// any name if that is empty; nil for none.
func (d *Directory) findUndecoded(kind, name string) *syntax.Undecoded {
	if d.undecodedBy == nil {
		d.undecodedBy = make(map[kindName]*syntax.Undecoded)
		for i := range d.undecoded {
			u := &d.undecoded[i]
			for _, key := range []kindName{{syntax.Fold(u.Kind), u.Name}, {syntax.Fold(u.Kind), ""}} {
				d.undecodedBy[key] = cmp.Or(d.undecodedBy[key], u)
			}
		}
	}
	return d.undecodedBy[kindName{kind, name}]
}

// MaySuggest reports whether another search for a near name is within the limit, and
// counts it.
func (d *Directory) MaySuggest() bool {
	d.suggested++
	return d.suggested <= MaxSuggestions
}

// sort groups the documents by their type.
func (d *Directory) sort() {
	d.byType = make(map[reflect.Type][][]syntax.Document)
	for rest := d.documents; len(rest) > 0; {
		// Documents of the same type are often adjacent.
		t, n := reflect.TypeOf(rest[0]), 1
		for n < len(rest) && reflect.TypeOf(rest[n]) == t {
			n++
		}
		d.byType[t] = append(d.byType[t], rest[:n])
		rest = rest[n:]
	}
}

// DocumentsOf returns the documents of the concrete type D, in the order of
// positions. The caller owns the list.
func DocumentsOf[D syntax.Document](d *Directory) []D {
	parts := d.byType[reflect.TypeFor[D]()]
	if len(parts) == 0 {
		return nil
	}
	n := 0
	for _, part := range parts {
		n += len(part)
	}
	out := make([]D, 0, n)
	for _, part := range parts {
		for _, document := range part {
			if typed, ok := document.(D); ok {
				out = append(out, typed)
			}
		}
	}
	return out
}

// Duplicate reports a document or value whose identity an earlier one has.
func (d *Directory) Duplicate(second, first *syntax.Header, message string) {
	at := second.At
	if second.ByName {
		at = second.NameAt
	}
	d.List.Add(diag.Diagnostic{
		Position: at,
		Code:     diag.Duplicate,
		Message:  fmt.Sprintf("%s; the first is at %s", message, first.At.Source()),
		Hint:     "remove one of them, or give it a name of its own",
		Related:  []diag.Related{{Position: first.At, Message: "the first is here"}},
	})
}
