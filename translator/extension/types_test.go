package extension

import (
	"fmt"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
)

// chain is n lines, each with the number of the line before and its own.
func chain(n int, line string) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintln(&b, strings.NewReplacer("PREV", fmt.Sprint(i-1), "NEXT", fmt.Sprint(i)).Replace(line))
	}
	return b.String()
}

// chainOf is n elements.
func chainOf(n int, element string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(element, i)
	}
	return strings.Join(list, ", ")
}

func TestLargeType(t *testing.T) {
	for name, row := range map[string]struct {
		text string
		want bool
	}{
		"a chain of rules":            {"x0 := [1, 2]\n" + chain(40, "xNEXT := [xPREV, xPREV]"), true},
		"a short chain of rules":      {"x0 := [1, 2]\n" + chain(10, "xNEXT := [xPREV, xPREV]"), false},
		"objects":                     {"x0 := 1\n" + chain(40, `xNEXT := {"a": xPREV, "b": xPREV}`), true},
		"pairs of sets":               {"x0 := {1}\n" + chain(40, "xNEXT := [{xPREV}, {xPREV}]"), true},
		"other definitions":           {"x0 := 1\n" + chain(40, "xNEXT := [xPREV, xPREV] if input.a\nelse := [xPREV] if input.b"), true},
		"partial rules":               {"x0 := 1\n" + chain(40, "xNEXT contains [xPREV, xPREV] if input.a"), true},
		"variables":                   {"p if {\nx0 := [1]\n" + chain(40, "xNEXT := [xPREV, xPREV]") + "x40 == input.a\n}", true},
		"variables in another order":  {"p if {\n" + chain(40, "[xPREV, xPREV] = xNEXT") + "x0 = [1]\n}", true},
		"variables of an else":        {"p if input.a\nelse if {\nx0 := [1]\n" + chain(40, "xNEXT := [xPREV, xPREV]") + "x40 == 1\n}", true},
		"parts of a value":            {"x0 := [1]\n" + chain(40, "xNEXT := [y, z] if { [y, z] := [xPREV, xPREV] }"), true},
		"elements of a value":         {"x0 := [[1]]\n" + chain(40, "xNEXT := [y, y] if { some y in xPREV }"), true},
		"elements by index":           {"x0 := [[1]]\n" + chain(40, "xNEXT := [y, y] if { y := xPREV[_] }"), true},
		"comprehensions":              {"x0 := [1]\n" + chain(40, "xNEXT := [[y, y] | y := xPREV]"), true},
		"object comprehensions":       {"x0 := [1]\n" + chain(40, "xNEXT := {i: [y, y] | y := xPREV[i]}"), true},
		"functions without arguments": {"f0(_) := [1]\n" + chain(40, "fNEXT(_) := [fPREV(1), fPREV(1)]"), true},
		"results of functions":        {"f0(_) := [1]\n" + chain(40, "fNEXT(_) := [y, y] if fPREV(1, y)"), true},
		"arguments have any type":     {"f0(x) := x\n" + chain(40, "fNEXT(x) := y if y := fPREV([x, x])"), false},
		"every":                       {"x0 := [1]\n" + chain(40, "xNEXT := [xPREV, xPREV] if every y in xPREV { y }"), true},
		"the package":                 {"x0 := [1]\n" + chain(40, "xNEXT := [data.p.xPREV, data.p.xPREV]"), true},
		"a large table":               {"x := [" + strings.Repeat("1, ", 50_000) + "1]\ny := x\nz if x == y", false},
		"arrays of variables":         {"x if [" + chainOf(2000, "a%d") + "] = [" + chainOf(2000, "b%d") + "]", false},
		"recursion":                   {"x := [y, y]\ny := [x, x]", false},
		"built-in functions":          {"x0 := [1]\n" + chain(40, "xNEXT := array.concat(xPREV, xPREV)"), false},
	} {
		module, err := ast.ParseModuleWithOpts("p.rego", "package p\n\n"+row.text, ast.ParserOptions{RegoVersion: ast.RegoV1})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		rule := LargeType(module)
		if (rule != nil) != row.want {
			t.Errorf("%s: got %v, want a large type: %v", name, rule, row.want)
		}
		if rule != nil {
			continue
		}
		// The compiler ends, with errors or without.
		ast.NewCompiler().Compile(map[string]*ast.Module{"p.rego": module})
	}
}
