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

// Family is gateways, routes and the policies attached to them.
type Family struct{}

// Kinds returns the kinds of the family.
func (*Family) Kinds() syntax.Kinds { return document.Kinds() }

// NewTable returns an empty table.
func (*Family) NewTable() tables.Table { return new(tables.Gateway) }

// Lower returns the table of the documents.
func (*Family) Lower(d *directory.Directory) (tables.Table, diag.List) { return lower(resolve(d)) }

// Emit returns the files of a table.
func (*Family) Emit(table tables.Table, o emit.Options) map[string][]byte {
	return emitFiles(table.(*tables.Gateway), o)
}
