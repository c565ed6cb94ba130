package extension

import (
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// Family is modules of Rego.
type Family struct{}

// Table is the modules of a directory. A bundle has them as files alone.
type Table struct{ modules []*Extension }

// Key is empty: no data.
func (*Table) Key() string { return "" }

// IsEmpty reports whether there is no module.
func (t *Table) IsEmpty() bool { return len(t.modules) == 0 }

// Features is empty.
func (*Table) Features() tables.Features { return nil }

// Entrypoint is empty: rules of roles call the modules.
func (*Table) Entrypoint() string { return "" }

// JSON is empty.
func (*Table) JSON() ([][]byte, error) { return nil, nil }

// Kinds returns the kinds of the family.
func (*Family) Kinds() syntax.Kinds { return kinds }

// NewTable returns an empty table.
func (*Family) NewTable() tables.Table { return new(Table) }

// Lower compiles the modules together.
func (*Family) Lower(d *directory.Directory) (tables.Table, diag.List) {
	return &Table{resolve(d)}, nil
}

// Emit returns the modules as they were read.
func (*Family) Emit(table tables.Table, _ emit.Options) map[string][]byte {
	return emitFiles(table.(*Table).modules)
}
