package cel

import (
	"fmt"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

// macro is a macro, reconstructed from the comprehension into which the parser expands it.
type macro struct {
	// function is the library's function that combines the results of all elements.
	function string
	// condition is the condition on each element; nil for map without a condition.
	condition ast.Expr
	// transformed is the result of map or filter for each element.
	transformed ast.Expr
}

// macro compiles a macro to a comprehension of Rego over the elements. It is a
// separate statement, because the range is used twice.
func (c *compiler) macro(e ast.Expr) string {
	m := e.AsComprehension()
	q, ok := parseMacro(m)
	if !ok {
		return c.reject(e, "this macro is not supported")
	}
	ranged := c.expression(m.IterRange())
	all := c.name("range")
	c.body = append(c.body, all+" := "+ranged)

	outer := c.body
	element, results := c.name("element"), c.name("results")
	leave := c.declare(m.IterVar(), local{element, c.isDoubleList(m.IterRange())})
	c.body = nil
	value := c.element(q)
	inner := c.body
	c.body = outer
	leave()

	lines := append([]string{fmt.Sprintf("some %s in %s", element, call("elements", all))}, inner...)
	for i, line := range lines {
		lines[i] = "\t" + strings.ReplaceAll(line, "\n", "\n\t")
	}
	c.body = append(c.body, fmt.Sprintf("%s := [%s |\n%s\n]", results, value, strings.Join(lines, "\n")))
	return call("over", all, call(q.function, results))
}

// element compiles the result for one element.
func (c *compiler) element(q macro) string {
	switch {
	case q.transformed == nil:
		return c.expression(q.condition)
	case q.condition == nil:
		return c.expression(q.transformed)
	}
	return array([]string{c.expression(q.condition), c.expression(q.transformed)})
}

// parseMacro recognizes a macro by its loop step and its initial value.
func parseMacro(m ast.ComprehensionExpr) (macro, bool) {
	if m.HasIterVar2() || m.LoopStep().Kind() != ast.CallKind {
		return macro{}, false
	}
	step := m.LoopStep().AsCall()
	args := step.Args()
	switch step.FunctionName() {
	case operators.LogicalAnd:
		return macro{function: "conjunction", condition: args[1]}, true
	case operators.LogicalOr:
		return macro{function: "disjunction", condition: args[1]}, true
	case operators.Add:
		return macro{function: "list", transformed: args[1].AsList().Elements()[0]}, true
	case operators.Conditional:
		if m.AccuInit().Kind() == ast.LiteralKind && m.AccuInit().AsLiteral() == types.IntZero {
			return macro{function: "single", condition: args[0]}, true
		}
		return macro{function: "selected", condition: args[0], transformed: args[1].AsCall().Args()[1].AsList().Elements()[0]}, true
	}
	return macro{}, false
}
