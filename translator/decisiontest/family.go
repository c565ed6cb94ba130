package decisiontest

import (
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// Family is decision tests, which are decoded and run, but not translated.
type Family struct{}

// Kinds returns the kinds of the family.
func (*Family) Kinds() syntax.Kinds { return kinds }

// NewTable returns an empty table, nil: the family has none.
func (*Family) NewTable() tables.Table { return nil }

// Resolve does nothing: decision tests refer to no document.
func (*Family) Resolve(*directory.Directory) {}

// Lower returns nil.
func (*Family) Lower() (tables.Table, diag.List) { return nil, nil }

// Emit returns nil.
func (*Family) Emit(emit.Options) map[string][]byte { return nil }
