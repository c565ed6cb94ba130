package bundles

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/writ-policy/writ/rego"
	"github.com/writ-policy/writ/translator"
)

// Altered is a module of a bundle that this version of writ would not write: of another
// version, changed by hand, additional or missing.
type Altered struct {
	Path string
	// Package is the package of the module, without "data"; of a missing one, that of the
	// module that this version writes.
	Package []string
}

// Altered returns the modules that differ, byte for byte, from the library of this version
// and from what it emits for the tables of the bundle, by path: those that authors wrote among
// them. Generated tests are left out. The error is that of a module which cannot be parsed.
func (b *Bundle) Altered() ([]Altered, error) {
	wanted := rego.Files()
	maps.Copy(wanted, translator.Modules(b.Tables))
	var paths []string
	for _, path := range slices.Sorted(maps.Keys(b.Files)) {
		if isModule(path) && !bytes.Equal(b.Files[path], wanted[path]) {
			paths = append(paths, path)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(wanted)) {
		if _, found := b.Files[path]; !found {
			paths = append(paths, path)
		}
	}
	var list []Altered
	for _, path := range paths {
		text, found := b.Files[path]
		if !found {
			text = wanted[path]
		}
		module, err := parse(path, text)
		if err != nil {
			return nil, err
		}
		list = append(list, Altered{Path: path, Package: packageOf(module)})
	}
	return list, nil
}

// IsAuthored reports whether an author of documents wrote the module: OPA evaluates it at
// every point, and its package has nothing else in it.
func (a *Altered) IsAuthored() bool {
	return translator.IsAuthored(strings.Join(a.Package, "/") + "/")
}

// packageOf returns the names of a module's package below "data".
func packageOf(module *ast.Module) []string {
	var names []string
	for _, term := range module.Package.Path[1:] {
		text, _ := term.Value.(ast.String)
		names = append(names, string(text))
	}
	return names
}
