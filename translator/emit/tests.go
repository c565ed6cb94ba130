package emit

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
