package emit

// Options say what is emitted. The zero value emits what decides and no tests.
type Options struct {
	// Tests adds generated tests, one file a role, for the first TestedRoles
	// roles that are bound.
	Tests bool
}
