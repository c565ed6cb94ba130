package emit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// quote writes text as a Rego string. It is JSON quoting: Go's %q and OPA's own
// formatting write escapes that Rego cannot read. All text from documents goes
// through here on its way into Rego source.
func quote(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string always has a JSON form
	}
	return string(quoted)
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
		fmt.Fprintf(&out, "\nholds(%s, request, params) := data.writ.extensions[%s].holds(request, params)\n", quote(name), quote(name))
	}
	return out.Bytes()
}

// comment makes text fit for one line of a Rego comment.
func comment(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 {
			return '?'
		}
		return r
	}, text)
}
