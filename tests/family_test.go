package tests

import (
	"go/ast"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// namedBy is how many production files outside of a family's folder name it at most:
// they import its packages, or use its table by its type. The shared phases loop over
// the families, so a family that nothing else needs is named in the registry alone.
// Lint and change do not count: they compare what the documents of certain families
// grant and deny, and a family that they do not know is not checked by them. Neither
// does the footprint: decisions of a family that it does not know are not cached. Nor do
// the packages of the console, which show how certain families decide.
var namedBy = map[string]struct {
	table string
	files int
}{
	"access":       {"Access", 11},
	"assertion":    {"", 4},
	"decisiontest": {"", 3},
	"deny":         {"Deny", 3}, // who may request an escalation is a table of another family
	"escalation":   {"Requestable", 1},
	"extension":    {"", 5},
	"gateway":      {"Gateway", 13},
	"inventory":    {"Inventory", 2},
	"session":      {"Sessions", 4},
	"visibility":   {"Visibility", 4},
}

// The registry of families names each once, and few other files name one at all.
func TestFilesThatNameAFamily(t *testing.T) {
	naming := make(map[string][]string)
	walkProduction(t, func(file string, parsed *ast.File) {
		for family, named := range namedBy {
			if !strings.HasPrefix(file, "translator/"+family+"/") && !strings.HasPrefix(file, "translator/tables/") &&
				!strings.HasPrefix(file, "translator/lint") && !strings.HasPrefix(file, "analysis/") &&
				!strings.HasPrefix(file, "translator/footprint/") &&
				!strings.HasPrefix(file, "server/console/") &&
				names(parsed, module+"/translator/"+family, named.table) {
				naming[family] = append(naming[family], file)
			}
		}
	})
	for _, family := range slices.Sorted(maps.Keys(namedBy)) {
		files := naming[family]
		if !slices.Contains(files, "translator/family.go") {
			t.Errorf("%s is not in the registry", family)
		}
		if most := namedBy[family].files; len(files) > most {
			t.Errorf("%d files name %s, want at most %d:\n%s", len(files), family, most, strings.Join(files, "\n"))
		} else if len(files) < most {
			t.Logf("%d files name %s: the limit of %d can be lowered", len(files), family, most)
		}
	}
	folders, err := filepath.Glob("../translator/*/family.go")
	if err != nil || len(folders) != len(namedBy) {
		t.Errorf("got %d folders of families and %v, want %d", len(folders), err, len(namedBy))
	}
}

// names reports whether a file imports a package or one below it, or has the name of a
// table.
func names(file *ast.File, family, table string) bool {
	for _, imported := range paths(file) {
		if imported == family || strings.HasPrefix(imported, family+"/") {
			return true
		}
	}
	found := false
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == table {
			x, _ := s.X.(*ast.Ident)
			found = found || x != nil && x.Name == "tables"
		}
		return true
	})
	return found
}

// walkProduction calls f for each production file below the top, by its path there.
func walkProduction(t *testing.T, f func(file string, parsed *ast.File)) {
	t.Helper()
	found := 0
	walkSources(t, func(file string, parsed *ast.File) {
		if !strings.HasPrefix(file, "tests/") && !strings.HasSuffix(file, "_test.go") {
			found++
			f(file, parsed)
		}
	})
	if found < 100 {
		t.Fatalf("found %d production files, which cannot be all", found)
	}
}
