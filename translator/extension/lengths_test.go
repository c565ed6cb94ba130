package extension

import (
	"fmt"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
)

// equalities is a body of so many expressions, in the order that takes OPA longest.
func equalities(n int) string {
	var b strings.Builder
	b.WriteString("holds if {\n")
	for i := range n - 1 {
		fmt.Fprintf(&b, "x%d = x%d\n", i, i+1)
	}
	fmt.Fprintf(&b, "x%d = input.request\n}\n", n-1)
	return b.String()
}

func elses(n int) string {
	return "first := 1 if input.a" + strings.Repeat("\nelse := 2 if input.b", n) + "\n"
}

func calls(n int) string {
	return "sums if [" + strings.TrimSuffix(strings.Repeat("abs(1), ", n), ", ") + "]\n"
}

func TestLengths(t *testing.T) {
	for _, row := range []struct {
		name, text, want string
	}{
		{"a body at the limit", equalities(maxBody), ""},
		{"a body above it", equalities(maxBody + 1), "a body of 201 expressions"},
		{"a body that would take days", equalities(8000), "a body of 8000 expressions"},
		{"a body within a body", "outer if { every y in [1] { y == 1\n" + strings.Repeat("y == 1\n", maxBody) + "} }", "a body of 201 expressions"},
		{"calls that become expressions", calls(maxBody), "expressions and calls"},
		{"several long bodies", strings.Repeat(equalities(maxBody), 4), ""},
		{"too many long bodies", strings.Repeat(equalities(maxBody), 5), "together"},
		{"many short bodies", strings.Repeat(equalities(10), 2000), ""},
		{"an else chain at the limit", elses(maxElse), ""},
		{"an else chain above it", elses(maxElse + 1), "an else chain of 101 links"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := ParseRego("p.rego", []byte("package writ.extensions.p\n"+row.text), ast.ParserOptions{RegoVersion: ast.RegoV1})
			if (err != nil) != (row.want != "") || err != nil && !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %q", err, row.want)
			}
		})
	}
}
