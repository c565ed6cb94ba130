package deny

import (
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// Family is deny policies and escalations. The zero value has seen no documents. It is not safe
// for concurrent use.
type Family struct {
	unchanged directory.Unchanged
	table     *tables.Deny
}

// Kinds returns the kinds of the family.
func (*Family) Kinds() syntax.Kinds { return kinds }

// NewTable returns an empty table.
func (*Family) NewTable() tables.Table { return new(tables.Deny) }

// Lower returns the table of the documents: that of the last directory, the same value, if no
// deny policy and no escalation has changed.
func (f *Family) Lower(d *directory.Directory) (tables.Table, diag.List) {
	if !f.unchanged.Holds(d, isRead) {
		began := d.Mark()
		f.table = lower(resolve(d))
		f.unchanged.Keep(d, began)
	}
	return f.table, nil
}

// isRead reports whether the family reads the document.
func isRead(d syntax.Document) bool {
	switch d.(type) {
	case *DenyPolicy, *BreakglassEscalation:
		return true
	}
	return false
}

// Emit returns the files of a table.
func (*Family) Emit(table tables.Table, o emit.Options) map[string][]byte {
	return emitFiles(table.(*tables.Deny), o)
}
