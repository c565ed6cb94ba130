package bundles

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
)

// everything keeps all modules.
func everything(map[string]*ast.Module) error { return nil }

// needed returns what removes the modules of the library that neither the queries nor the
// other modules refer to, directly or by modules that they refer to. The library compiles without them: it is tested as a whole. A module of the library with
// another text is not one of the library, and stays.
func needed(queries []string) func(modules map[string]*ast.Module) error {
	return func(modules map[string]*ast.Module) error {
		var asked []ast.Ref
		for _, query := range queries {
			body, err := ast.ParseBody(query)
			if err != nil {
				return fmt.Errorf("compile %s: %w", query, err)
			}
			asked = append(asked, refersTo(body)...)
		}
		left := make(map[string]*ast.Module) // of the library, not referred to so far
		for path, module := range modules {
			if known, ok := parsedLibrary()[path]; ok && known.module == module {
				left[path] = module
				continue
			}
			asked = append(asked, refersTo(module)...)
		}
		for len(asked) > 0 {
			ref := asked[len(asked)-1]
			asked = asked[:len(asked)-1]
			for path, module := range left {
				if concerns(ref, module.Package.Path) {
					delete(left, path)
					asked = append(asked, parsedLibrary()[path].refersTo...)
				}
			}
		}
		for path := range left {
			delete(modules, path)
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
