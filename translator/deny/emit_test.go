package deny

import (
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/writ-policy/writ/translator/emit"
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

// A resource is found by every lower-case word for its kind, one in capitals by none.
func TestResourcesModule(t *testing.T) {
	deny := lowered(t, map[string]string{"p.yaml": `
apiVersion: breakglass.t-caas.telekom.com/v1alpha1
kind: DenyPolicy
metadata: {name: p}
spec: {rules: [{verbs: [get], apiGroups: [""], resources: [secrets, Pods, policies/status, "*/scale"]}, {verbs: [get], apiGroups: [""], resources: ["*"]}]}
`})
	const want = `# METADATA
# description: |
#   The resources that deny policies name, by the lower-case words for the same kind.
package compiled.deny_resources

named := {
	"policie": ["policies"],
	"policies": ["policies"],
	"policieses": ["policies"],
	"policy": ["policies"],
	"secret": ["secrets"],
	"secrets": ["secrets"],
	"secretses": ["secrets"],
}
`
	if got := string(emitFiles(deny, emit.Options{})["compiled/deny_resources/deny_resources.rego"]); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
