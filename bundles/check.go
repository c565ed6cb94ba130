package bundles

import (
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/writ-policy/writ/rego"
	"github.com/writ-policy/writ/rego/builtin"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/footprint"
	"github.com/writ-policy/writ/translator/tables"
)

// Check compiles the Rego of a bundle, tests included. It returns an error, with file, line
// and column for the author of an extension, if a module does not compile, its package is
// outside of the root of its folder, or a rule conflicts with data. Stock OPA rejects such
// bundles too.
func Check(b *Bundle) error {
	modules, err := b.modules(func(path string) bool { return strings.HasSuffix(path, moduleSuffix) }, nil, needed(nil))
	if err != nil {
		return err
	}
	rego.Compile(func() {
		// Later stages find no mistakes: they build indices for evaluation.
		_, err = b.compile(modules, ast.NewCompiler().WithOnlyStagesUpTo(ast.StageCheckDeprecatedBuiltins))
	})
	return err
}

// Compile compiles the modules that an engine loads and returns the errors of Check. It must
// be called within rego.Compile.
func Compile(b *Bundle) (*ast.Compiler, error) { return b.compiler(nil, everything) }

// CompileFor is Compile for queries such as data.writ.access.grants: it leaves out modules of
// the library, and modules that isEmitted selects by their paths, that neither the queries nor other
// modules refer to. Half of the library is about families that the documents may not have. Of
// what this version of writ writes, the library and the modules that isEmitted selects, a
// compiler keeps what an evaluation needs: no text, and no annotations.
func CompileFor(b *Bundle, queries []string, isEmitted func(path string) bool) (*ast.Compiler, error) {
	return b.compiler(isEmitted, needed(queries))
}

// compiler returns the compiler of the modules that an engine loads and that reduce keeps, which
// another bundle may share.
func (b *Bundle) compiler(isEmitted func(path string) bool, reduce reducer) (*ast.Compiler, error) {
	modules, err := b.modules(isModule, isEmitted, reduce)
	if err != nil {
		return nil, err
	}
	return compilers.get(modules.key(b), func() (*ast.Compiler, error) { return b.compile(modules, ast.NewCompiler()) })
}

func (b *Bundle) compile(modules modules, compiler *ast.Compiler) (*ast.Compiler, error) {
	all, err := modules.parsed()
	if err != nil {
		return nil, err
	}
	compiler = compiler.WithCapabilities(builtin.Capabilities()).
		WithDefaultRegoVersion(ast.RegoV1).WithPathConflictsCheck(b.isData)
	if compiler.Compile(all); compiler.Failed() {
		return nil, fmt.Errorf("check the bundle: %w", compiler.Errors)
	}
	// An engine keeps the compiler as long as the rules are the same. It must not keep the
	// data of the first bundle that has them, nor the graph, which orders checks of the rules.
	compiler.Graph = nil
	return compiler.WithPathConflictsCheck(nil), nil
}

// checkPackage returns an error unless the package of a module is below the root of its
// file, and a test is in a package of tests: tests do not enter the revision, so they must
// not add a rule that decides.
func checkPackage(path string, module *ast.Module) error {
	terms := packageOf(module)
	root, _, _ := strings.Cut(path, "/")
	if terms[0] != root {
		return fmt.Errorf("%s: %s must be below the root %q of its file", path, module.Package, root)
	}
	if IsTest(path) && !strings.HasSuffix(terms[len(terms)-1], "_test") {
		return fmt.Errorf("%s: %s must end in _test, because the file is a test", path, module.Package)
	}
	if isModule(path) && slices.ContainsFunc(terms[1:], func(term string) bool { return strings.HasSuffix(term, "_test") }) {
		return fmt.Errorf("%s: %s must not end in _test, because the file is not a test", path, module.Package)
	}
	return nil
}

// isData reports whether the data of a bundle has a value at path, or would have it with
// documents of all families. The error is always nil.
func (b *Bundle) isData(path []string) (bool, error) {
	if len(path) == 0 || path[0] != "compiled" {
		return false, nil
	}
	isKey := func(table tables.Table) bool { return table.Key() == path[1] }
	return len(path) == 1 || path[1] == tables.FeaturesKey || path[1] == footprint.Key ||
		slices.ContainsFunc(translator.Tables(), isKey) || slices.ContainsFunc(b.Tables, isKey), nil
}
