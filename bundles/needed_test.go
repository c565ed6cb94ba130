package bundles

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/rego"
	"github.com/writ-policy/writ/translator/tables"
)

// What a query or a document refers to is compiled with it, directly or not; other modules
// of the library are not.
func TestCompileFor(t *testing.T) {
	const vip = "writ/extensions/vip/vip_2erego.rego"
	for _, row := range []struct {
		name, extension string
		queries         []string
		with, without   []string // beginnings of paths
	}{
		{"access", "", []string{"data.writ.access.grants"}, []string{"writ/access/compact/", "writ/shape/", vip}, []string{"writ/visibility/", "writ/cel/", "writ/gateway/"}},
		{"a folder of rules", "", []string{"data.writ.visibility"}, []string{"writ/visibility/items/", "writ/shape/"}, []string{"writ/gateway/", "writ/cel/"}},
		{"a query with a variable", "", []string{"[value | value := data.writ.gateway[input.name].decision]"}, []string{"writ/gateway/", "writ/access/"}, []string{"writ/visibility/"}},
		{"all", "", []string{"data"}, []string{"writ/access/", "writ/visibility/", "writ/gateway/", "writ/cel/"}, nil},
		{"an extension imports", "import data.writ.cel\n\nholds(_, _) if cel.equals(1, 1)", nil, []string{"writ/cel/"}, []string{"writ/access/", "writ/gateway/"}},
		{"an extension refers by a variable", "holds(_, _) if {\n\tsome name\n\tdata.writ[name]\n}", nil, []string{"writ/visibility/", "writ/cel/"}, nil},
		{"an extension replaces data", "holds(_, _) if data.writ.access.grants with data.writ.tables as {}", nil, []string{"writ/access/", "writ/tables/"}, []string{"writ/cel/"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			access := translated(1)
			files := compiledFiles()
			if row.extension != "" {
				files[vip] = []byte("package writ.extensions.vip\n\n" + row.extension + "\n")
			}
			b, err := assemble(tables.List{access}, nil, BuildOptions{}, accessData(t, access), rego.Files(), files)
			check(t, err)
			modules, err := b.modules(isModule, needed(row.queries))
			check(t, err)
			all, err := modules.parsed()
			check(t, err)
			kept := slices.Sorted(maps.Keys(all))
			has := func(beginning string) bool {
				return slices.ContainsFunc(kept, func(path string) bool { return strings.HasPrefix(path, beginning) })
			}
			for _, beginning := range row.with {
				if !has(beginning) {
					t.Errorf("%s is left out: got %q", beginning, kept)
				}
			}
			for _, beginning := range row.without {
				if has(beginning) {
					t.Errorf("%s is kept: got %q", beginning, kept)
				}
			}
		})
	}
}

// Each part of the library compiles with no more than the modules that it refers to.
func TestLibraryCompilesInParts(t *testing.T) {
	b := sample(t)
	packages := map[string]bool{}
	for path := range rego.Files() {
		module, err := parse(path, b.Files[path])
		check(t, err)
		packages[module.Package.Path[:3].String()] = true // data.writ.access
	}
	if len(packages) < 4 {
		t.Errorf("found %d parts, which cannot be all", len(packages))
	}
	for name := range packages {
		rego.Compile(func() {
			_, err := CompileFor(b, []string{name})
			check(t, err)
		})
	}
}
