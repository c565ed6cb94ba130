package agreement

import (
	"context"
	"strings"
	"sync"
	"testing"

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
	compiler *ast.Compiler // nil until something is prepared or tested
	store    storage.Store
}

// newStock returns an OPA that has loaded a bundle, with the tests for which isIncluded is
// true.
func newStock(t *testing.T, bundle *bundles.Bundle, isIncluded func(path string) bool) *stock {
	t.Helper()
	return newStockOver(t, bundle, tree(t, bundle.Data.Bytes()), isIncluded)
}

// newStockOver is newStock with other data.
func newStockOver(t *testing.T, bundle *bundles.Bundle, compiled any, isIncluded func(path string) bool) *stock {
	t.Helper()
	s := &stock{modules: map[string]*ast.Module{}, store: inmem.NewFromObject(map[string]any{"compiled": compiled})}
	for path, content := range bundle.Files {
		if strings.HasSuffix(path, ".rego") && (!bundles.IsTest(path) || isIncluded(path)) {
			s.modules[path] = parsed(t, path, string(content))
		}
	}
	return s
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
			s.compiler = ast.NewCompiler()
			s.compiler.Compile(s.modules)
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
