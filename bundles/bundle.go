// Package bundles turns emitted files and the Rego library into one checked,
// reproducible OPA bundle, and reads such bundles back. What is in a bundle is
// decided before it gets here.
//
// # Design
//
// The revision is a hash over what decides, by name and content. Generated tests
// and the manifest's metadata decide nothing and do not enter it, so a server,
// which builds without tests, names the same documents as `writ build` does.
// The time of the build appears nowhere.
//
// A bundle that is read is refused whole for one strange file. Skipping what is
// not known would run half of what somebody made.
package bundles

import (
	"strings"

	"github.com/writ-policy/writ/translator/tables"
)

// Bundle is a whole bundle in memory. It is immutable once built.
type Bundle struct {
	Manifest Manifest
	// Files are all files but .manifest and .signatures.json by their path in the bundle, without a
	// leading slash: Rego modules, data.json files, generated tests.
	Files map[string][]byte
	// Signatures is the content of .signatures.json, nil where nobody has signed. It
	// says who signed only when Verify has agreed.
	Signatures []byte
	// SignedBy is the key by which ReadSigned found the bundle signed, as it was then;
	// zero where nobody looked.
	SignedBy Key
	Tables
}

// Tables are compiled/data.json decoded, so that a bundle built in this process is
// not parsed again.
type Tables struct {
	// Access is data.compiled.access; every bundle has it.
	Access *tables.Access `json:"access"`
	// Visibility is data.compiled.views, and Gateway data.compiled.effective; nil
	// where the data has none: no document of that family was there.
	Visibility *tables.Visibility `json:"views"`
	Gateway    *tables.Gateway    `json:"effective"`
	// Features is data.compiled.features; nil in a bundle of an older version.
	Features *tables.Features `json:"features"`
}

// StatedFeatures returns the features that the bundle states. If it states none,
// every feature counts as present.
func (t *Tables) StatedFeatures() tables.Features {
	if t.Features == nil {
		return tables.AllFeatures()
	}
	return *t.Features
}

// ManifestPath is the manifest's place in a bundle.
const ManifestPath = ".manifest"

// DataPath is the place of the compiled data in a bundle.
const DataPath = "compiled/data.json"

const (
	moduleSuffix = ".rego"
	testSuffix   = "_test.rego"
)

// IsTest reports whether the file at path is a generated test: it decides
// nothing, and an engine has no need to load it.
func IsTest(path string) bool { return strings.HasSuffix(path, testSuffix) }

// HasTests reports whether some file is a generated test.
func (b *Bundle) HasTests() bool {
	for path := range b.Files {
		if IsTest(path) {
			return true
		}
	}
	return false
}

// IsModule reports whether the file at path is Rego that decides.
func IsModule(path string) bool { return strings.HasSuffix(path, moduleSuffix) && !IsTest(path) }
