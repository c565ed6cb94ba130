package deny

import (
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/writ-policy/writ/translator/tables"
)

// The conditions of every glob are Rego.
func FuzzGlobConditions(f *testing.F) {
	for _, seed := range []string{"*", "a*b", `[\]]`, "[^a-z]?", `\\`, "a\"]\nb"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, pattern string) {
		glob, _, _ := tables.ParsePathGlob(strings.ToValidUTF8(pattern, "?")) // documents are UTF-8
		for _, condition := range globConditions("input.x", glob) {
			if _, err := ast.ParseBody(condition); err != nil {
				t.Fatalf("%q gives %s: %v", pattern, condition, err)
			}
		}
	})
}
