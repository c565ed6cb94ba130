// Package emit writes Rego text: quoted strings, file names, modules with helper
// rules. The families write their files with it, and all text of documents reaches
// Rego source through [Quote]. It must not know any family or table.
package emit

// Options say what is emitted. The zero value emits what decides and no tests.
type Options struct {
	// Tests adds generated tests, one file a role, for the first TestedRoles
	// roles that are bound.
	Tests bool
}

// Words that no document is expected to know: what is decided by them is decided
// by a wildcard.
const (
	StrangeVerb     = "writ-other-verb"
	StrangeResource = "writ-other-resources"
	StrangeGroup    = "writ-other.group"
	StrangePath     = "/writ-other-path"
)

// OrDefault returns entry, or other in place of a wildcard.
func OrDefault(entry, other string) string {
	if entry == "*" {
		return other
	}
	return entry
}

// TestedRoles is how many roles get generated tests: OPA compiles every test
// module whenever it loads a bundle, so a large directory is tested by its first
// roles in the order of their keys.
const TestedRoles = 2000
