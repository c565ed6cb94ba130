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

// emitFiles writes the answers of extensions by their names, the expressions in
// CEL and the generated tests. Roles and bindings are data.
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

// dispatch writes the module by which the library asks an extension by name:
// Rego has no call through a variable. The first clause is for no extension at
// all, so that the function is always defined.
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
