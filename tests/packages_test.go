package tests

import (
	"go/ast"
	"go/doc"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// The table of every package in docs/architecture.md has a row for each, with the first
// sentence of its comment.
func TestArchitectureListsEveryPackage(t *testing.T) {
	want := make(map[string]string)
	walkProduction(t, func(file string, parsed *ast.File) {
		if parsed.Doc == nil {
			return
		}
		sentence := new(doc.Package).Synopsis(parsed.Doc.Text())
		_, about, _ := strings.Cut(strings.TrimPrefix(sentence, "Package "), " ")
		if strings.HasPrefix(sentence, "Command ") {
			_, about, _ = strings.Cut(about, " ")
		}
		want[path.Dir(file)] = "| `" + path.Dir(file) + "` | " + strings.TrimSuffix(about, ".") + " |"
	})
	text, err := os.ReadFile("../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Every package\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var got []string
	for line := range strings.Lines(section) {
		if strings.HasPrefix(line, "| `") {
			got = append(got, strings.TrimSuffix(line, "\n"))
		}
	}
	var rows []string
	for _, dir := range slices.Sorted(maps.Keys(want)) {
		rows = append(rows, want[dir])
	}
	if len(rows) < 80 {
		t.Fatalf("found %d packages, which cannot be all", len(rows))
	}
	for _, row := range rows {
		if !slices.Contains(got, row) {
			t.Errorf("a row is absent or differs; write\n%s", row)
		}
	}
	for _, row := range got {
		if !slices.Contains(rows, row) {
			t.Errorf("the row is of no package, or differs:\n%s", row)
		}
	}
	if !t.Failed() && !slices.Equal(got, rows) {
		t.Error("the rows are not in the order of the packages")
	}
}
