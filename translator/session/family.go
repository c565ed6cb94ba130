package session

import (
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// Family is sessions. The zero value has seen no documents. It is not safe for concurrent
// use.
type Family struct {
	lowerer lowerer
}

// Kinds returns the kinds of the family.
func (*Family) Kinds() syntax.Kinds { return kinds }

// NewTable returns an empty table.
func (*Family) NewTable() tables.Table { return new(tables.Sessions) }

// Lower returns the table of the documents.
func (f *Family) Lower(d *directory.Directory) (tables.Table, diag.List) {
	return f.lowerer.lower(resolve(d)), nil
}

// Emit returns generated tests alone: sessions are data.
func (*Family) Emit(t tables.Table, o emit.Options) map[string][]byte {
	sessions, _ := t.(*tables.Sessions)
	if sessions == nil || !o.Tests {
		return nil
	}
	return sessionTests(sessions)
}
