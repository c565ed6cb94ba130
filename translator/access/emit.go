package access

import (
	"maps"

	"github.com/writ-policy/writ/translator/emit"
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
