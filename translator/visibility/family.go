package visibility

import (
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// Family is the family of monitor access policies and metric sources. The zero value has
// no documents. It is not safe for concurrent use.
type Family struct {
	resolved *Resolved
}

// Kinds returns the kinds of the family.
func (*Family) Kinds() syntax.Kinds { return kinds }

// NewTable returns an empty table.
func (*Family) NewTable() tables.Table { return new(tables.Visibility) }

// Resolve follows the references among the documents.
func (f *Family) Resolve(d *directory.Directory) { f.resolved = resolve(d) }

// Lower returns the table of the documents.
func (f *Family) Lower() (tables.Table, diag.List) {
	return lower(f.resolved), nil
}

// Emit returns the files of a table.
func (*Family) Emit(table tables.Table, o emit.Options) map[string][]byte {
	return emitFiles(table.(*tables.Visibility), o)
}
