// Package bundles joins emitted files and the Rego library into one signed, reproducible OPA
// bundle, and reads, verifies and compiles such bundles. It must not interpret documents:
// package translator produces the content.
//
// # Design
//
// The revision is a hash over the names and contents of the files that affect decisions; of the
// data over hashes of its lines, which are kept for those that a change leaves.
// Generated tests and the metadata of the manifest do not affect decisions and do not enter
// it: a server, which builds without tests, and `writ build` compute the same revision for
// the same documents. A bundle contains no time of the build.
//
// One unknown file rejects the whole bundle. Skipping unknown files would run a part of a
// bundle that another version of writ wrote.
package bundles

import (
	"strings"

	"github.com/writ-policy/writ/translator/footprint"
	"github.com/writ-policy/writ/translator/tables"
)

// Bundle is a bundle in memory. It is immutable.
type Bundle struct {
	Manifest Manifest
	// Data is the content of compiled/data.json.
	Data tables.Text
	// Files are the contents of all files except that, .manifest and .signatures.json, by path
	// without a leading slash: Rego modules, the footprint, generated tests.
	Files map[string][]byte
	// Signatures is the content of .signatures.json, nil in an unsigned bundle. It is not
	// verified unless SignedBy is set.
	Signatures []byte
	// SignedBy is the key that signed the bundle, as of ReadSigned; zero if the signature was
	// not verified.
	SignedBy Key
	// Tables are the decoded data, so that a bundle that was built in this
	// process is not parsed again. Every bundle has the tables of access; of another family
	// only if it has documents.
	Tables tables.List
	// Features are data.compiled.features; nil in a bundle of an older version.
	Features tables.Features
	// Footprint is what the documents can tell apart; nil in a bundle of an older version.
	Footprint *footprint.Footprint
}

// ManifestPath is the path of the manifest in a bundle.
const ManifestPath = ".manifest"

// dataPath is the path of the compiled tables in a bundle.
const dataPath = "compiled/data.json"

const (
	moduleSuffix = ".rego"
	testSuffix   = "_test.rego"
)

// IsTest reports whether the file at path is a generated test, which an engine does not load.
func IsTest(path string) bool { return strings.HasSuffix(path, testSuffix) }

// isModule reports whether the file at path is a Rego module that an engine loads.
func isModule(path string) bool { return strings.HasSuffix(path, moduleSuffix) && !IsTest(path) }
