package extension

import (
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// Family is modules of Rego. The zero value has seen no documents. It is not safe for
// concurrent use.
type Family struct {
	modules []*Extension
}

// Kinds returns the kinds of the family.
func (*Family) Kinds() syntax.Kinds { return kinds }

// NewTable returns an empty table, nil: the family has none.
func (*Family) NewTable() tables.Table { return nil }

// Resolve compiles the modules together.
func (f *Family) Resolve(d *directory.Directory) { f.modules = resolve(d) }

// Lower returns nil.
func (*Family) Lower() (tables.Table, diag.List) { return nil, nil }

// Emit returns the modules as they were read.
func (f *Family) Emit(tables.Table, emit.Options) map[string][]byte { return emitFiles(f.modules) }
