package translator

import (
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/access"
	"github.com/writ-policy/writ/translator/assertion"
	"github.com/writ-policy/writ/translator/decisiontest"
	"github.com/writ-policy/writ/translator/deny"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/escalation"
	"github.com/writ-policy/writ/translator/extension"
	"github.com/writ-policy/writ/translator/gateway"
	"github.com/writ-policy/writ/translator/inventory"
	"github.com/writ-policy/writ/translator/session"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
	"github.com/writ-policy/writ/translator/visibility"
)

// Family is the documents of one API. A Family may keep from one directory for the next what
// makes Lower faster; what it returns must not depend on that.
type Family interface {
	// Kinds returns the kinds of documents of the family. The list must not be modified.
	Kinds() syntax.Kinds
	// NewTable returns an empty table to decode a bundle's data into, nil if the family
	// has no table.
	NewTable() tables.Table
	// Lower follows the references among the documents of a directory and returns their
	// table, empty without documents, nil if the family has no table. It adds diagnostics
	// to the directory as well.
	Lower(d *directory.Directory) (tables.Table, diag.List)
	// Emit returns files by their path in a bundle, for a table of the type of NewTable,
	// nil if the family has none. No two families have a path in common.
	Emit(table tables.Table, o emit.Options) map[string][]byte
}

// registered returns all families, none of which has seen a document. A new family
// is one more line. Hints list kinds in this order.
func registered() []Family {
	return []Family{
		new(access.Family),
		new(decisiontest.Family),
		new(assertion.Family),
		new(deny.Family),
		new(session.Family),
		new(escalation.Family),
		new(visibility.Family),
		new(gateway.Family),
		new(inventory.Family),
		new(extension.Family),
	}
}

// Kinds returns the kinds of all families.
func Kinds() syntax.Kinds { return kindsOf(registered()) }

// ServedKinds returns the kinds of documents that an API server may serve.
func ServedKinds() []source.Kind {
	var kinds []source.Kind
	for _, k := range Kinds() {
		if k.APIVersion != "" {
			kinds = append(kinds, source.Kind{APIVersion: k.APIVersion, Name: k.Name})
		}
	}
	return kinds
}

// Tables returns an empty table of each family that has one.
func Tables() tables.List {
	var list tables.List
	for _, family := range registered() {
		if table := family.NewTable(); table != nil {
			list = append(list, table)
		}
	}
	return list
}

// Modules returns the Rego that the tables of a bundle are emitted as, by its path, without
// tests. What IsAuthored is left out.
func Modules(list tables.List) map[string][]byte {
	files := make(map[string][]byte)
	for _, family := range registered() {
		maps.Copy(files, family.Emit(tableOf(list, family), emit.Options{}))
	}
	maps.DeleteFunc(files, func(path string, _ []byte) bool { return !strings.HasSuffix(path, ".rego") || IsAuthored(path) })
	return files
}

// IsAuthored reports whether the folder of a path in a bundle has Rego that authors of
// documents wrote, or would have if the path were that of a package.
func IsAuthored(path string) bool {
	return strings.HasPrefix(path, "writ/extensions/") || strings.HasPrefix(path, gateway.BodyFolder)
}

func kindsOf(families []Family) syntax.Kinds {
	var kinds syntax.Kinds
	for _, family := range families {
		kinds = slices.Concat(kinds, family.Kinds())
	}
	return kinds
}
