package visibility

import (
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// Family is the family of monitor access policies and metric sources.
type Family struct{}

// Kinds returns the kinds of the family.
func (*Family) Kinds() syntax.Kinds { return kinds }

// NewTable returns an empty table.
func (*Family) NewTable() tables.Table { return new(tables.Visibility) }

// Lower returns the table of the documents.
func (*Family) Lower(d *directory.Directory) (tables.Table, diag.List) { return lower(resolve(d)), nil }

// Emit returns the files of a table.
func (*Family) Emit(table tables.Table, o emit.Options) map[string][]byte {
	return emitFiles(table.(*tables.Visibility), o)
}
