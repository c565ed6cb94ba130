package tests

import (
	"go/ast"
	"os"
	"regexp"
	"strings"
	"testing"
)

// walkRow is a row of a table of docs/architecture.md: a file and functions in it.
var walkRow = regexp.MustCompile("(?m)^\\| `([a-z_/]+\\.go)` \\| (.+) \\|$")

// The files that docs/architecture.md leads a reader through exist and have the functions
// that it names.
func TestArchitectureNamesFilesAndFunctions(t *testing.T) {
	text, err := os.ReadFile("../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	declared := make(map[string]map[string]bool)
	walkSources(t, func(file string, parsed *ast.File) {
		declared[file] = make(map[string]bool)
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				declared[file][f.Name.Name] = true
			}
		}
	})
	rows := walkRow.FindAllStringSubmatch(string(text), -1)
	for _, row := range rows {
		for name := range strings.SplitSeq(row[2], ", ") {
			if !declared[row[1]][strings.Trim(name, "`")] {
				t.Errorf("%s does not declare the function %s", row[1], name)
			}
		}
	}
	if len(rows) < 40 {
		t.Errorf("found %d files, which cannot be all", len(rows))
	}
}
