package access

import (
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/tables"
)

// The text of a condition becomes a comment and a key. It must not end either early.
func TestExpressionsAreUnderTheirText(t *testing.T) {
	texts := []string{"request.name == '\u2028\"}} '", "request.name in ['a',\n 'b']"}
	files := emitFiles(&tables.Access{Expressions: texts}, emit.Options{})
	module, err := ast.ParseModule(expressionsPath, string(files[expressionsPath]))
	if err != nil {
		t.Fatalf("%v in\n%s", err, files[expressionsPath])
	}
	found := map[string]int{}
	for _, rule := range module.Rules {
		if ref := rule.Head.Ref(); ref[0].Value.Compare(ast.Var("verdicts")) == 0 {
			found[string(ref[1].Value.(ast.String))]++
		}
	}
	for _, text := range texts {
		if found[text] != 3 {
			t.Errorf("got %d verdicts of %q, want 3", found[text], text)
		}
	}
}

func TestNoExpressionsNoModule(t *testing.T) {
	files := emitFiles(&tables.Access{}, emit.Options{})
	for path := range files {
		if strings.Contains(path, "expressions") {
			t.Errorf("got %s, want none", path)
		}
	}
}
