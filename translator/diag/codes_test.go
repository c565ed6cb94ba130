package diag_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"testing"

	"github.com/writ-policy/writ/translator/diag"
)

// Every constant of type Code has an explanation, and every explanation all
// that `writ explain` prints.
func TestEveryCodeIsExplained(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "codes.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if name, ok := spec.Type.(*ast.Ident); !ok || name.Name != "Code" {
			return true
		}
		found++
		code, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := diag.Explain(diag.Code(code)); !ok {
			t.Errorf("code %s has no explanation", code)
		}
		return true
	})
	if found == 0 {
		t.Fatal("no code found")
	}
}

func TestExplanations(t *testing.T) {
	form := regexp.MustCompile(`^[a-z]+(-[a-z][a-z0-9]*)*$`)
	seen := map[diag.Code]bool{}
	last := diag.Code("")
	for _, e := range diag.Explanations() {
		if !form.MatchString(string(e.Code)) {
			t.Errorf("code %q is not in kebab case", e.Code)
		}
		if seen[e.Code] || e.Code < last {
			t.Errorf("code %s is there twice or out of order", e.Code)
		}
		seen[e.Code], last = true, e.Code
		if e.Summary == "" || e.Text == "" {
			t.Errorf("code %s has no summary or no text", e.Code)
		}
		if e.Summary[len(e.Summary)-1] == '.' {
			t.Errorf("the summary of %s ends in a full stop", e.Code)
		}
	}
	if _, ok := diag.Explain("no-such-code"); ok {
		t.Error("an unknown code is explained")
	}
}
