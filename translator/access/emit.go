package access

import (
	"bytes"
	"fmt"
	"maps"

	"github.com/writ-policy/writ/translator/cel"
	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/regotext"
	"github.com/writ-policy/writ/translator/tables"
)

const dispatchPath = "compiled/extensions/dispatch.rego"

// emitFiles returns the module that calls extensions by name, the module of CEL
// expressions, and the generated tests. Roles and bindings are data.
func emitFiles(access *tables.Access, o emit.Options) map[string][]byte {
	files := map[string][]byte{dispatchPath: dispatch(access.Extensions)}
	if texts := access.RuleExpressions(); len(texts) > 0 {
		files[expressionsPath] = expressions(texts)
	}
	if o.Tests {
		maps.Copy(files, accessTests(access))
	}
	return files
}

// dispatch returns the module with which the library calls an extension by name, because
// Rego cannot call a function through a variable. The first clause defines the function
// even without extensions.
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

const expressionsPath = "compiled/expressions/expressions.rego"

// canonical is the variable of the conditions of restrictions.
var canonical = cel.Env{Variables: cel.Access.Variables, Terms: map[string]string{"request": "request"}}

// expressions returns the module of the CEL conditions, with the result of each one under
// its text. Decoding has rejected texts that do not compile.
func expressions(texts []string) []byte {
	var out bytes.Buffer
	out.WriteString(`# METADATA
# description: |
#   What the conditions in CEL of attributeRestrictions come to: "true", "false" or
#   "error", and nothing for one that reads a key which is not there.
package compiled.expressions

# As it is, so that it has no type: a key that no request has is a missing one.
request := data.writ.cel.as_is(data.writ.access.request.whole)
`)
	for i, text := range texts {
		program, problem := cel.CompilePredicate(text, canonical)
		if problem != nil {
			continue
		}
		name := fmt.Sprintf("expression_%d", i)
		out.WriteString("\n" + program.Rego(name))
		for _, half := range []string{"true", "false", "error"} {
			fmt.Fprintf(&out, "\nverdicts[%s] := %q if %s_%s\n", regotext.Quote(text), half, name, half)
		}
	}
	return out.Bytes()
}
