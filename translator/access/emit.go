package access

import (
	"bytes"
	"fmt"
	"maps"

	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/regotext"
	"github.com/writ-policy/writ/translator/tables"
)

const dispatchPath = "compiled/extensions/dispatch.rego"

// emitFiles returns the module that calls extensions by name, the module of CEL
// expressions, and the generated tests. Roles and bindings are data.
func emitFiles(access *tables.Access, o emit.Options) map[string][]byte {
	files := map[string][]byte{dispatchPath: dispatch(access.Extensions)}
	if len(access.Expressions) > 0 {
		files[expressionsPath] = expressions(access.Expressions)
	}
	if o.Tests {
		maps.Copy(files, accessTests(access))
	}
	return files
}

// dispatch returns the module with which the library calls an extension by name, because
// Rego cannot call a function through a variable. The first clause defines the function
// even if there are no extensions.
func dispatch(names []string) []byte {
	var out bytes.Buffer
	out.WriteString(`# METADATA
# description: |
#   The answers of extensions by their names. Generated from the names that the
#   rules of the documents refer to.
package compiled.extensions

# METADATA
# description: The answer of the extension of this name; undefined where it says nothing.
# scope: document
holds("", _, _) := false
`)
	for _, name := range names {
		fmt.Fprintf(&out, "\nholds(%s, request, params) := data.writ.extensions%s.holds(request, params)\n", regotext.Quote(name), regotext.Key(name))
	}
	return out.Bytes()
}
