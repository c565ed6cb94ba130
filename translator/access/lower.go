package access

import (
	"maps"
	"slices"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/extension"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// lowerer makes tables, time and again from documents most of which it has seen
// before: all of them of one directory, read with one master namespace. What it
// makes does not depend on what it has seen. The zero value has seen nothing. It is
// not safe for concurrent use.
type lowerer struct {
	seen   Resolved
	access tables.Access // of what was seen
	// extensions and expressions count the rules that have them.
	extensions, expressions map[string]int
	// warnings are of roles that have any.
	warnings map[syntax.Document]diag.List
}

// lower makes the tables of the documents.
func (l *lowerer) lower(r *Resolved) (*tables.Access, diag.List) {
	if l.warnings == nil {
		l.extensions, l.expressions = make(map[string]int), make(map[string]int)
		l.warnings = make(map[syntax.Document]diag.List)
	}
	c := newChange()
	l.kubernetes(c, r)
	l.origin(c, r)
	l.seen = *r
	l.access.Master = r.Master
	c.apply(&l.access)
	l.access.Extensions = slices.AppendSeq([]string{}, maps.Keys(l.extensions))
	slices.Sort(l.access.Extensions)
	l.access.Expressions = slices.Sorted(maps.Keys(l.expressions))
	// A module that no rule names may be called by one that is.
	l.access.ReadsClock = len(l.access.Extensions) > 0 &&
		slices.ContainsFunc(r.Extensions, func(e *extension.Extension) bool { return e.ReadsClock })

	var list diag.List
	if !r.Partial { // a document with mistakes lacks what its rules say
		for _, warnings := range l.warnings {
			list = append(list, warnings...)
		}
	}
	made := l.access
	return &made, list
}

// warn stores the warnings of a role for as long as the role exists.
func (l *lowerer) warn(role syntax.Document, warnings diag.List) {
	if len(warnings) > 0 {
		l.warnings[role] = warnings
	}
}

// count adds n to the number of rules that use word; the empty word is ignored.
func count(words map[string]int, word string, n int) {
	if word == "" {
		return
	}
	if words[word] += n; words[word] == 0 {
		delete(words, word)
	}
}

// sameKey reports whether two roles, of which one may have been read again, have one
// key.
func sameKey[D interface {
	comparable
	syntax.Document
}](a, b D) bool {
	return a == b || roleKey(a.Meta()) == roleKey(b.Meta())
}

// roleKey returns the key of a role document.
func roleKey(h *syntax.Header) string { return tables.RoleKey(h.Family, h.Namespace, h.Name) }
