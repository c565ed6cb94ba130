// Package emit writes Rego text: quoted strings, file names, modules with helper
// rules. The families write their files with it, and all text of documents reaches
// Rego source through [Quote]. It must not know any family or table.
//
// Not part of the promised API; see package writ.
package emit

// Options say what is emitted. The zero value emits what decides and no tests.
type Options struct {
	// Tests adds generated tests, one file a role, for the first TestedRoles
	// roles that are bound.
	Tests bool
}
