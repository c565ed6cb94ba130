package bundles

import (
	"runtime"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/writ-policy/writ/rego"
	"github.com/writ-policy/writ/translator/tables"
)

// Bundles with the same modules share a compiler while one is in use, whatever their data and
// tests. Those with another module, or which compile for other queries, do not, and neither does
// a bundle with a mistake.
func TestSharedCompilers(t *testing.T) {
	const rule, conflict = "writ/extensions/x/x_2erego.rego", "compiled/x.rego"
	compile := func(n int, query string, more map[string]string) (*ast.Compiler, error) {
		access := translated(n)
		files := compiledFiles()
		for path, text := range more {
			files[path] = []byte(text)
		}
		b, err := assemble(tables.List{access}, nil, BuildOptions{}, accessData(t, access), rego.Files(), files)
		check(t, err)
		var compiler *ast.Compiler
		rego.Compile(func() { compiler, err = CompileFor(b, []string{query}, nil) })
		return compiler, err
	}
	const grants = "data.writ.access.grants"
	first, err := compile(1, grants, nil)
	check(t, err)
	for _, row := range []struct {
		name     string
		n        int
		query    string
		more     map[string]string
		isShared bool
	}{
		{"other data", 2, grants, nil, true},
		{"a test", 1, grants, map[string]string{"compiled/tests/x_test.rego": "package compiled.tests.x_test"}, true},
		{"another query", 1, "data.writ.visibility", nil, false},
		{"a rule", 1, grants, map[string]string{rule: "package writ.extensions.x\n\nholds(_, _) := true"}, false},
		{"another rule", 1, grants, map[string]string{rule: "package writ.extensions.x\n\nholds(_, _) := false"}, false},
	} {
		compiler, err := compile(row.n, row.query, row.more)
		check(t, err)
		if (compiler == first) != row.isShared {
			t.Errorf("%s: shared: %v, want %v", row.name, compiler == first, row.isShared)
		}
	}
	for range 2 {
		_, err := compile(1, grants, map[string]string{conflict: "package compiled\n\naccess := 1"})
		wantError(t, err, "conflict")
	}
	runtime.KeepAlive(first)
}

// The library is parsed module by module, so each declares its package on a line of its own.
func TestLibraryIsKnown(t *testing.T) {
	for path, text := range rego.Files() {
		known := library()[path]
		if known == nil {
			t.Errorf("%s: not found", path)
			continue
		}
		module, err := parse(path, text)
		check(t, err)
		if !module.Package.Path.Equal(known.pack) {
			t.Errorf("%s: got package %s, want %s", path, known.pack, module.Package.Path)
		}
	}
}
