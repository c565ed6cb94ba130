package access

import (
	"bytes"
	"fmt"

	"github.com/writ-policy/writ/translator/cel"
	"github.com/writ-policy/writ/translator/regotext"
)

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
