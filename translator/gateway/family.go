// Package gateway is the family of gateways, routes and the policies inherited along
// them: how references among their documents are followed, the tables they come to, and
// the Rego and the generated tests written for those. The decoded documents stand in
// gateway/document, and questions about effective policies in
// gateway/effective. It must not know other families.
package gateway

import (
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/gateway/document"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// Family is gateways, routes and the policies attached to them. The zero value has seen
// no documents. It is not safe for concurrent use.
type Family struct {
	resolved *Resolved
}

// Kinds returns the kinds of the family.
func (*Family) Kinds() syntax.Kinds { return document.Kinds() }

// NewTable returns an empty table.
func (*Family) NewTable() tables.Table { return new(tables.Gateway) }

// Resolve follows the references among the documents.
func (f *Family) Resolve(d *directory.Directory) { f.resolved = resolve(d) }

// Lower returns the table of the documents.
func (f *Family) Lower() (tables.Table, diag.List) {
	return lower(f.resolved)
}

// Emit returns the files of a table.
func (*Family) Emit(table tables.Table, o emit.Options) map[string][]byte {
	return emitFiles(table.(*tables.Gateway), o)
}
