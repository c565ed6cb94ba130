// Package bundles turns emitted files and the Rego library into one checked,
// reproducible OPA bundle, and reads such bundles back. What is in a bundle is
// decided before it gets here.
package bundles

import "github.com/writ-policy/writ/translator/lower"

// Bundle is a whole bundle in memory. It is immutable once built.
type Bundle struct {
	Manifest Manifest
	// Files are all files but .manifest by their path in the bundle, without a
	// leading slash: Rego modules, data.json files, generated tests.
	Files map[string][]byte
	// Access is the decoded data.compiled.access of compiled/data.json, so that
	// a bundle built in this process is not parsed again.
	Access *lower.Access
}
