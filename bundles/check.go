package bundles

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/writ-policy/writ/rego"
)

// Capabilities is what Rego in a bundle may use: all of this OPA version but the
// built-ins whose result depends on more than their arguments. The time is the
// exception, since it is the engine's to set. The value is the caller's.
func Capabilities() *ast.Capabilities {
	all := ast.CapabilitiesForThisVersion()
	kept := *all
	kept.Builtins = nil
	for _, builtin := range all.Builtins {
		if !builtin.Nondeterministic || builtin.Name == ast.NowNanos.Name {
			kept.Builtins = append(kept.Builtins, builtin)
		}
	}
	kept.AllowNet = []string{}
	return &kept
}

// Check compiles the bundle's Rego, tests included, and refuses what a stock OPA would:
// modules outside of their folder's root, rules where there is data, anything that
// does not compile. The error is one an author of an extension can read, with file,
// line and column.
func Check(b *Bundle) error {
	var err error
	rego.Compile(func() {
		_, err = compile(b, func(path string) bool { return strings.HasSuffix(path, moduleSuffix) })
	})
	return err
}

// Compile compiles what decides, as strictly as Check does. It must be called within
// rego.Compile.
func Compile(b *Bundle) (*ast.Compiler, error) { return compile(b, IsModule) }

func compile(b *Bundle, counts func(path string) bool) (*ast.Compiler, error) {
	modules := make(map[string]*ast.Module)
	capabilities := Capabilities()
	for _, path := range slices.Sorted(maps.Keys(b.Files)) {
		if !counts(path) {
			continue
		}
		module, err := ast.ParseModuleWithOpts(path, string(b.Files[path]), ast.ParserOptions{
			RegoVersion:       ast.RegoV1,
			Capabilities:      capabilities,
			ProcessAnnotation: true,
		})
		if err != nil {
			return nil, fmt.Errorf("check the bundle: %w", err)
		}
		if err := checkPackage(path, module); err != nil {
			return nil, fmt.Errorf("check the bundle: %w", err)
		}
		modules[path] = module
	}
	compiler := ast.NewCompiler().WithCapabilities(capabilities).
		WithDefaultRegoVersion(ast.RegoV1).WithPathConflictsCheck(isData)
	if compiler.Compile(modules); compiler.Failed() {
		return nil, fmt.Errorf("check the bundle: %w", compiler.Errors)
	}
	return compiler, nil
}

// checkPackage holds a module to the root its file is in, and generated tests to
// packages of their own: they are not part of the revision, so they must not be
// able to add a rule to what decides.
func checkPackage(path string, module *ast.Module) error {
	var terms []string
	for _, term := range module.Package.Path[1:] {
		text, _ := term.Value.(ast.String)
		terms = append(terms, string(text))
	}
	root, _, _ := strings.Cut(path, "/")
	if terms[0] != root {
		return fmt.Errorf("%s: %s is outside of the file's root %q", path, module.Package, root)
	}
	if IsTest(path) && !strings.HasSuffix(terms[len(terms)-1], "_test") {
		return fmt.Errorf("%s: %s is not a package of tests", path, module.Package)
	}
	if IsModule(path) && slices.ContainsFunc(terms[1:], func(term string) bool { return strings.HasSuffix(term, "_test") }) {
		return fmt.Errorf("%s: %s is a package of tests", path, module.Package)
	}
	return nil
}

// isData reports whether the bundle's data has something at path.
func isData(path []string) (bool, error) {
	return len(path) >= 2 && path[0] == "compiled" && slices.Contains([]string{"access", "views", "effective", "features"}, path[1]) ||
		len(path) == 1 && path[0] == "compiled", nil
}
