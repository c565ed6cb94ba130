package bundles

import (
	"fmt"
	"maps"

	"github.com/open-policy-agent/opa/v1/ast"
)

// reducer removes modules of the library.
type reducer func(modules) error

// everything keeps all modules.
func everything(modules) error { return nil }

// needed returns what removes the modules of the library that neither the queries nor the
// other modules refer to, directly or by modules that they refer to. The library compiles without them: it is tested as a whole. A module of the library with
// another text is not one of the library, and stays.
func needed(queries []string) reducer {
	return func(m modules) error {
		var asked []ast.Ref
		for _, query := range queries {
			body, err := ast.ParseBody(query)
			if err != nil {
				return fmt.Errorf("compile %s: %w", query, err)
			}
			asked = append(asked, refersTo(body)...)
		}
		for _, module := range m.own {
			asked = append(asked, refersTo(module)...)
		}
		left := maps.Clone(m.library) // not referred to so far
		for len(asked) > 0 {
			ref := asked[len(asked)-1]
			asked = asked[:len(asked)-1]
			for path, known := range left {
				if !concerns(ref, known.pack) {
					continue
				}
				delete(left, path)
				parsed, err := known.parse()
				if err != nil {
					return err
				}
				asked = append(asked, parsed.refersTo...)
			}
		}
		for path := range left {
			delete(m.library, path)
		}
		return nil
	}
}

// refersTo returns the constant beginnings of the references to data in a module or query.
// The package and the imports of a module are among them: other modules of its package add
// to its rules.
func refersTo(moduleOrQuery any) []ast.Ref {
	var refs []ast.Ref
	ast.WalkRefs(moduleOrQuery, func(ref ast.Ref) bool {
		if ref[0].Equal(ast.DefaultRootDocument) {
			refs = append(refs, ref.ConstantPrefix())
		}
		return false
	})
	return refs
}

// concerns reports whether a reference may have to do with a package: it is below the
// package, or the package is below what it refers to.
func concerns(ref, pack ast.Ref) bool { return ref.HasPrefix(pack) || pack.HasPrefix(ref) }
