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

// moduleTable is the modules of a directory. A bundle has them as files alone.
type moduleTable struct{ modules []*Extension }

// Key is empty: no data.
func (*moduleTable) Key() string { return "" }

// IsEmpty reports whether a directory has no module.
func (t *moduleTable) IsEmpty() bool { return len(t.modules) == 0 }

// Features is empty.
func (*moduleTable) Features() tables.Features { return nil }

// Entrypoint is empty: rules of roles call the modules.
func (*moduleTable) Entrypoint() string { return "" }

// JSON is empty.
func (*moduleTable) JSON() (tables.Text, error) { return tables.Text{}, nil }

// Kinds returns the kinds of the family.
func (*Family) Kinds() syntax.Kinds { return kinds }

// NewTable returns an empty table.
func (*Family) NewTable() tables.Table { return new(moduleTable) }

// Lower compiles the modules together.
func (*Family) Lower(d *directory.Directory) (tables.Table, diag.List) {
	return &moduleTable{resolve(d)}, nil
}

// Emit returns the modules as they were read.
func (*Family) Emit(table tables.Table, _ emit.Options) map[string][]byte {
	return emitFiles(table.(*moduleTable).modules)
}
