package bundles

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"weak"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/writ-policy/writ/rego"
	"github.com/writ-policy/writ/rego/builtin"
)

// modules are those of a bundle, by their paths.
type modules struct {
	own     map[string]*ast.Module
	library map[string]*libraryModule
}

// libraryModule is a module of the embedded library. Parsing the library takes half of the time
// of a compilation, almost every bundle has it, and few refer to all of it. The compiler works
// on copies.
type libraryModule struct {
	text  []byte
	pack  ast.Ref
	parse func() (parsedModule, error)
}

type parsedModule struct {
	module   *ast.Module
	refersTo []ast.Ref
}

var library = sync.OnceValue(func() map[string]*libraryModule {
	all := map[string]*libraryModule{}
	for path, text := range rego.Files() {
		if pack := packageLine(text); pack != nil {
			all[path] = &libraryModule{text, pack.Path, sync.OnceValues(func() (parsedModule, error) {
				module, err := parse(path, text)
				if err != nil {
					return parsedModule{}, err
				}
				return parsedModule{module, refersTo(module)}, nil
			})}
		}
	}
	return all
})

// packageLine returns the package that a module of the library declares, nil if a module does not
// do so on a line of its own.
func packageLine(text []byte) *ast.Package {
	for line := range bytes.Lines(text) {
		if bytes.HasPrefix(line, []byte("package ")) {
			pack, err := ast.ParsePackage(string(line))
			if err != nil {
				return nil
			}
			return pack
		}
	}
	return nil
}

// modules returns the modules that isIncluded selects by their paths and reduce keeps.
func (b *Bundle) modules(isIncluded func(path string) bool, reduce reducer) (modules, error) {
	m := modules{make(map[string]*ast.Module), make(map[string]*libraryModule)}
	for _, path := range slices.Sorted(maps.Keys(b.Files)) {
		if !isIncluded(path) {
			continue
		}
		if known := library()[path]; known != nil && bytes.Equal(known.text, b.Files[path]) {
			m.library[path] = known
			continue
		}
		module, err := parse(path, b.Files[path])
		if err == nil {
			err = checkPackage(path, module)
		}
		if err != nil {
			return modules{}, fmt.Errorf("check the bundle: %w", err)
		}
		m.own[path] = module
	}
	return m, reduce(m)
}

// parsed returns all modules.
func (m modules) parsed() (map[string]*ast.Module, error) {
	all := maps.Clone(m.own)
	for path, known := range m.library {
		parsed, err := known.parse()
		if err != nil {
			return nil, err
		}
		all[path] = parsed.module
	}
	return all, nil
}

// key returns a text that is the same for bundles of which the modules m compile to the same.
func (m modules) key(b *Bundle) string {
	var tables []string // with which rules may conflict
	for _, table := range b.Tables {
		tables = append(tables, table.Key())
	}
	slices.Sort(tables)
	own := digest(b.Files, func(path string) bool { return m.own[path] != nil })
	return strings.Join(slices.Concat([]string{own}, tables, slices.Sorted(maps.Keys(m.library))), "\n")
}

func parse(path string, text []byte) (*ast.Module, error) {
	return ast.ParseModuleWithOpts(path, string(text), ast.ParserOptions{
		RegoVersion:       ast.RegoV1,
		Capabilities:      builtin.Capabilities(),
		ProcessAnnotation: true,
	})
}

// compilers are those that an engine has. Bundles of the clusters and tenants of one directory
// have the same rules, and bundles of roles and bindings have no rules but the library's.
var compilers sharedCompilers

// sharedCompilers holds no compiler by itself. Its methods must be called within rego.Compile.
type sharedCompilers struct {
	byKey map[string]weak.Pointer[ast.Compiler]
}

// get returns the compiler of a key, or what compile returns if it is not in use.
func (s *sharedCompilers) get(key string, compile func() (*ast.Compiler, error)) (*ast.Compiler, error) {
	if shared := s.byKey[key].Value(); shared != nil {
		return shared, nil
	}
	maps.DeleteFunc(s.byKey, func(_ string, p weak.Pointer[ast.Compiler]) bool { return p.Value() == nil })
	compiler, err := compile()
	if err != nil {
		return nil, err
	}
	if s.byKey == nil {
		s.byKey = make(map[string]weak.Pointer[ast.Compiler])
	}
	s.byKey[key] = weak.Make(compiler)
	return compiler, nil
}
