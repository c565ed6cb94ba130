package bundles

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
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
	// emitted are the modules that this version of writ writes for the tables. They compile, and
	// are compiled for evaluation alone, so they are trimmed.
	emitted map[string]parsedModule
	// isTrimmed states that the modules of the library are trimmed.
	isTrimmed bool
}

// libraryModule is a module of the embedded library. Parsing the library takes half of the time
// of a compilation, almost every bundle has it, and few refer to all of it. The compiler works
// on copies.
type libraryModule struct {
	text []byte
	pack ast.Ref
	// whole returns the module as it is written, and trimmed what an evaluation needs of it.
	whole, trimmed func() (parsedModule, error)
}

// parsedModule is a module with the constant beginnings of the names of its rules, and of the rules
// that it refers to.
type parsedModule struct {
	module            *ast.Module
	defines, refersTo []ast.Ref
}

// parse returns the module in the form that m has of the library.
func (l *libraryModule) parse(m *modules) (parsedModule, error) {
	if m.isTrimmed {
		return l.trimmed()
	}
	return l.whole()
}

var library = sync.OnceValue(func() map[string]*libraryModule {
	all := map[string]*libraryModule{}
	for path, text := range rego.Files() {
		if pack := packageLine(text); pack != nil {
			all[path] = &libraryModule{text, pack.Path, parseOnce(path, text, parse), parseOnce(path, text, parseTrimmed)}
		}
	}
	return all
})

func parseOnce(path string, text []byte, parse func(path string, text []byte) (*ast.Module, error)) func() (parsedModule, error) {
	return sync.OnceValues(func() (parsedModule, error) {
		module, err := parse(path, text)
		if err != nil {
			return parsedModule{}, err
		}
		return parsedModule{module, definitions(module), refersToRules(module)}, nil
	})
}

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

// modules returns the modules that isIncluded selects by their paths and reduce keeps. Those that
// isEmitted selects, and the library, are trimmed; nil trims nothing.
func (b *Bundle) modules(isIncluded, isEmitted func(path string) bool, reduce reducer) (modules, error) {
	m := modules{
		own: make(map[string]*ast.Module), library: make(map[string]*libraryModule), emitted: make(map[string]parsedModule),
		isTrimmed: isEmitted != nil,
	}
	for _, path := range slices.Sorted(maps.Keys(b.Files)) {
		if !isIncluded(path) {
			continue
		}
		if known := library()[path]; known != nil && bytes.Equal(known.text, b.Files[path]) {
			m.library[path] = known
			continue
		}
		if err := m.add(path, b.Files[path], isEmitted != nil && isEmitted(path)); err != nil {
			return modules{}, fmt.Errorf("check the bundle: %w", err)
		}
	}
	return m, reduce(&m)
}

// add adds a module that is not of the library.
func (m *modules) add(path string, text []byte, isEmitted bool) error {
	parse := parse
	if isEmitted {
		parse = parseTrimmed
	}
	module, err := parse(path, text)
	if err != nil {
		return err
	}
	if err := checkPackage(path, module); err != nil {
		return err
	}
	if isEmitted {
		m.emitted[path] = parsedModule{module, definitions(module), refersToRules(module)}
	} else {
		m.own[path] = module
	}
	return nil
}

// parsed returns all modules.
func (m *modules) parsed() (map[string]*ast.Module, error) {
	all := maps.Clone(m.own)
	for path, emitted := range m.emitted {
		all[path] = emitted.module
	}
	for path, known := range m.library {
		parsed, err := known.parse(m)
		if err != nil {
			return nil, err
		}
		all[path] = parsed.module
	}
	return all, nil
}

// key returns a text that is the same for bundles of which the modules m compile to the same.
func (m *modules) key(b *Bundle) string {
	var tables []string // with which rules may conflict
	for _, table := range b.Tables {
		tables = append(tables, table.Key())
	}
	slices.Sort(tables)
	own := digest(b.Files, func(path string) bool { return m.own[path] != nil })
	emitted := digest(b.Files, func(path string) bool { return m.emitted[path].module != nil })
	parts := append([]string{own, emitted, strconv.FormatBool(m.isTrimmed)}, tables...)
	return strings.Join(append(parts, slices.Sorted(maps.Keys(m.library))...), "\n")
}

func parse(path string, text []byte) (*ast.Module, error) {
	return ast.ParseModuleWithOpts(path, string(text), ast.ParserOptions{
		RegoVersion:       ast.RegoV1,
		Capabilities:      builtin.Capabilities(),
		ProcessAnnotation: true,
	})
}

// parseTrimmed returns what an evaluation needs of a module.
func parseTrimmed(path string, text []byte) (*ast.Module, error) {
	module, err := ast.ParseModuleWithOpts(path, string(text), ast.ParserOptions{RegoVersion: ast.RegoV1, Capabilities: builtin.Capabilities()})
	if err != nil {
		return nil, err
	}
	trim(module)
	return module, nil
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
