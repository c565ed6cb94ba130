package bundles

import (
	"fmt"
	"maps"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// reducer removes modules of the library, and modules that this version of writ writes.
type reducer func(*modules) error

// everything keeps all modules.
func everything(*modules) error { return nil }

// needed returns what removes the modules of the library, and of those that this version of writ
// writes, that neither the queries nor the other modules refer to, directly or by modules that they
// refer to. They compile without each other: the library is tested as a whole, and so is what is
// written for tables. A module of the library with another text is not one of the library, and stays.
func needed(queries []string) reducer {
	return func(m *modules) error {
		var asked []ast.Ref
		for _, query := range queries {
			body, err := ast.ParseBody(query)
			if err != nil {
				return fmt.Errorf("compile %s: %w", query, err)
			}
			asked = append(asked, refersTo(body)...)
		}
		for _, module := range m.own {
			// Other modules of the package add to its rules, or conflict with them.
			asked = append(asked, module.Package.Path)
			asked = append(asked, refersToRules(module)...)
		}
		library, emitted := maps.Clone(m.library), maps.Clone(m.emitted) // not referred to so far
		for len(asked) > 0 {
			ref := asked[len(asked)-1]
			asked = asked[:len(asked)-1]
			for path, module := range emitted {
				if module.answers(ref) {
					delete(emitted, path)
					asked = append(asked, module.refersTo...)
				}
			}
			for path, known := range library {
				if !concerns(ref, known.pack) {
					continue
				}
				module, err := known.parse(m)
				if err != nil {
					return err
				}
				if module.answers(ref) {
					delete(library, path)
					asked = append(asked, module.refersTo...)
				}
			}
		}
		maps.DeleteFunc(m.library, func(path string, _ *libraryModule) bool { return library[path] != nil })
		maps.DeleteFunc(m.emitted, func(path string, _ parsedModule) bool { return emitted[path].module != nil })
		return nil
	}
}

// answers reports whether a reference may have to do with a rule of the module.
func (m *parsedModule) answers(ref ast.Ref) bool {
	return slices.ContainsFunc(m.defines, func(rule ast.Ref) bool { return concerns(ref, rule) })
}

// definitions returns the constant beginnings of the names of the rules of a module.
func definitions(module *ast.Module) []ast.Ref {
	defined := make([]ast.Ref, len(module.Rules))
	for i, rule := range module.Rules {
		defined[i] = rule.Ref().ConstantPrefix()
	}
	return defined
}

// refersTo returns the constant beginnings of the references to data in a query or a part of a
// module.
func refersTo(queryOrNode any) []ast.Ref {
	var refs []ast.Ref
	ast.WalkRefs(queryOrNode, func(ref ast.Ref) bool {
		if ref[0].Equal(ast.DefaultRootDocument) {
			refs = append(refs, ref.ConstantPrefix())
		}
		return false
	})
	return refs
}

// refersToRules returns the constant beginnings of the references in a module: its imports, what its
// rules refer to, and the rules of its own package, as which each variable counts.
func refersToRules(module *ast.Module) []ast.Ref {
	var refs []ast.Ref
	seen := ast.NewVarSet()
	add := func(node any) {
		refs = append(refs, refersTo(node)...)
		ast.WalkVars(node, func(name ast.Var) bool {
			if !seen.Contains(name) {
				seen.Add(name)
				refs = append(refs, module.Package.Path.Append(ast.StringTerm(string(name))))
			}
			return false
		})
	}
	for _, imported := range module.Imports {
		add(imported)
	}
	for _, rule := range module.Rules {
		add(rule)
		add(rule.Head.Reference) // OPA does not visit it as a part of the rule
	}
	return refs
}

// concerns reports whether a reference may have to do with a package or a rule: it is below
// that, or that is below what it refers to.
func concerns(ref, pack ast.Ref) bool { return ref.HasPrefix(pack) || pack.HasPrefix(ref) }
