package tests

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Only the root package and the client are promised. Every other package states in its comment that it
// is not, so that documentation of the module does not suggest otherwise.
func TestPackagesStateWhatIsPromised(t *testing.T) {
	const statement = "Not part of the promised API; see package writ."
	for name := range packageImports(t) {
		if name == "." || name == "client" || strings.HasPrefix(name, "cmd/") || strings.HasPrefix(name, "tests") {
			continue
		}
		files, err := filepath.Glob(filepath.Join("..", name, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: got no files (%v)", name, err)
		}
		stated := false
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, content, parser.ParseComments|parser.PackageClauseOnly)
			if err != nil {
				t.Fatal(err)
			}
			stated = stated || parsed.Doc != nil && strings.Contains(parsed.Doc.Text(), statement)
		}
		if !stated {
			t.Errorf("the comment of package %s must contain %q", name, statement)
		}
	}
}
