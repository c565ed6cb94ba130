package assertion

import (
	"fmt"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// Family is assertions, which are decoded and proven, but not translated.
type Family struct{}

// Kinds returns the kinds of the family.
func (*Family) Kinds() syntax.Kinds { return Kinds }

// NewTable returns nil: the family has no table.
func (*Family) NewTable() tables.Table { return nil }

// Lower reports more assertions than a directory may have.
func (*Family) Lower(d *directory.Directory) (tables.Table, diag.List) {
	count := 0
	for _, doc := range directory.DocumentsOf[*Document](d) {
		if count += len(doc.Assertions); count > maxAssertions && count-len(doc.Assertions) <= maxAssertions {
			d.List.Add(diag.Diagnostic{Position: doc.At, Code: diag.TooLarge, Message: fmt.Sprintf("the directory has more than %d assertions", maxAssertions)})
		}
	}
	return nil, nil
}

// Emit returns nil.
func (*Family) Emit(tables.Table, emit.Options) map[string][]byte { return nil }
