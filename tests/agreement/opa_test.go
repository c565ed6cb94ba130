package agreement

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"weak"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"

	"github.com/writ-policy/writ/bundles"
	library "github.com/writ-policy/writ/rego"
	"github.com/writ-policy/writ/tests/generated"
)

// stock is OPA as anyone runs it: the Rego of a bundle, its data, a store of plain values,
// no option that a command line does not set.
type stock struct {
	modules  map[string]*ast.Module
	key      string        // the same for the same modules
	compiler *ast.Compiler // nil until something is prepared or tested
	store    storage.Store
}

// newStock returns an OPA that has loaded a bundle, with the tests for which isIncluded is
// true. If points are given, it leaves out modules of the library that neither they nor the
// other modules refer to: half of the library is about other points, and compiling it takes
// most of the time.
func newStock(t *testing.T, bundle *bundles.Bundle, isIncluded func(path string) bool, points ...string) *stock {
	t.Helper()
	s := &stock{modules: map[string]*ast.Module{}, store: inmem.NewFromObject(map[string]any{"compiled": tree(t, bundle.Data.Bytes())})}
	for path, content := range bundle.Files {
		if strings.HasSuffix(path, ".rego") && (!bundles.IsTest(path) || isIncluded(path)) {
			s.modules[path] = parsed(t, path, string(content))
		}
	}
	if len(points) > 0 {
		s.reduce(points)
	}
	sum := sha256.New()
	for _, path := range slices.Sorted(maps.Keys(s.modules)) {
		fmt.Fprintf(sum, "%q %x\n", path, sha256.Sum256(bundle.Files[path]))
	}
	s.key = string(sum.Sum(nil))
	return s
}

// reduce removes the modules of the library that nothing refers to.
func (s *stock) reduce(points []string) {
	var asked []ast.Ref
	for _, point := range points {
		asked = append(asked, ast.MustParseRef("data.writ."+point+".decision"))
	}
	left := maps.Clone(s.modules)
	take := func(path string) {
		ast.WalkRefs(left[path], func(ref ast.Ref) bool {
			if ref[0].Equal(ast.DefaultRootDocument) {
				asked = append(asked, ref.ConstantPrefix())
			}
			return false
		})
		delete(left, path)
	}
	for path := range s.modules {
		if !strings.HasPrefix(path, "writ/") {
			take(path)
		}
	}
	for len(asked) > 0 {
		ref := asked[0]
		asked = asked[1:]
		for path, module := range left {
			if pack := module.Package.Path; ref.HasPrefix(pack) || pack.HasPrefix(ref) {
				take(path)
			}
		}
	}
	for path := range left {
		delete(s.modules, path)
	}
}

// compilers are those in use, by the key of their modules.
var compilers sync.Map

// compiled returns the compiler of the modules, which stocks with the same modules share. It
// must be called within library.Compile.
func (s *stock) compiled() *ast.Compiler {
	if known, ok := compilers.Load(s.key); ok {
		if shared := known.(weak.Pointer[ast.Compiler]).Value(); shared != nil {
			return shared
		}
	}
	compiler := ast.NewCompiler()
	compiler.Compile(s.modules)
	compilers.Store(s.key, weak.Make(compiler))
	return compiler
}

func noTests(string) bool  { return false }
func allTests(string) bool { return true }

// modules are those of the library, by path and text: all bundles have them. The compiler
// works on copies.
var modules sync.Map

func parsed(t *testing.T, path, text string) *ast.Module {
	t.Helper()
	key := [2]string{path, text}
	if known, ok := modules.Load(key); ok {
		return known.(*ast.Module)
	}
	module, err := ast.ParseModuleWithOpts(path, text, ast.ParserOptions{ProcessAnnotation: true})
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasPrefix(path, "writ/") {
		modules.Store(key, module)
	}
	return module
}

// prepare compiles the modules, once, and a query.
func (s *stock) prepare(t *testing.T, query string, options ...func(*rego.Rego)) rego.PreparedEvalQuery {
	t.Helper()
	var prepared rego.PreparedEvalQuery
	var err error
	library.Compile(func() {
		if s.compiler == nil {
			s.compiler = s.compiled()
		}
		if s.compiler.Failed() {
			err = s.compiler.Errors
			return
		}
		options = append(options, rego.Query(query), rego.Compiler(s.compiler), rego.Store(s.store))
		prepared, err = rego.New(options...).PrepareForEval(context.Background())
	})
	if err != nil {
		t.Fatal(err)
	}
	return prepared
}

// test runs the tests and returns those that fail.
func (s *stock) test(t *testing.T) []string {
	t.Helper()
	s.prepare(t, "true")
	failed, ran, err := generated.Failing(t.Context(), s.compiler, s.modules, s.store)
	if err != nil {
		t.Fatal(err)
	}
	if ran == 0 {
		t.Fatal("no test ran")
	}
	return failed
}
