package cel

import (
	"fmt"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

// quantity is a macro taken out of the comprehension that the parser writes for it.
type quantity struct {
	// function judges the list of what the macro says of each element.
	function string
	// condition is said of each element; nil where map has none.
	condition ast.Expr
	// transformed is what map makes of each element, and filter leaves.
	transformed ast.Expr
}

// macro is a comprehension of Rego over the elements, judged as a whole. It is a
// statement of its own: the range stands in it twice.
func (c *compiler) macro(e ast.Expr) string {
	m := e.AsComprehension()
	q, ok := quantityOf(m)
	if !ok {
		return c.refuse(e, "this macro is not supported")
	}
	ranged := c.expression(m.IterRange())
	all := c.name("range")
	c.body = append(c.body, all+" := "+ranged)

	outer := c.body
	element, said := c.name("element"), c.name("said")
	leave := c.enter(m.IterVar(), local{element, c.reals(m.IterRange())})
	c.body = nil
	value := c.each(q)
	inner := c.body
	c.body = outer
	leave()

	lines := append([]string{fmt.Sprintf("some %s in %s", element, call("elements", all))}, inner...)
	for i, line := range lines {
		lines[i] = "\t" + strings.ReplaceAll(line, "\n", "\n\t")
	}
	c.body = append(c.body, fmt.Sprintf("%s := [%s |\n%s\n]", said, value, strings.Join(lines, "\n")))
	return call("over", all, call(q.function, said))
}

// each is what is said of one element.
func (c *compiler) each(q quantity) string {
	switch {
	case q.transformed == nil:
		return c.expression(q.condition)
	case q.condition == nil:
		return c.expression(q.transformed)
	}
	return array([]string{c.expression(q.condition), c.expression(q.transformed)})
}

// quantityOf tells the macros by how they go on and what they begin with.
func quantityOf(m ast.ComprehensionExpr) (quantity, bool) {
	if m.HasIterVar2() || m.LoopStep().Kind() != ast.CallKind {
		return quantity{}, false
	}
	step := m.LoopStep().AsCall()
	args := step.Args()
	switch step.FunctionName() {
	case operators.LogicalAnd:
		return quantity{function: "conjunction", condition: args[1]}, true
	case operators.LogicalOr:
		return quantity{function: "disjunction", condition: args[1]}, true
	case operators.Add:
		return quantity{function: "list", transformed: args[1].AsList().Elements()[0]}, true
	case operators.Conditional:
		if m.AccuInit().Kind() == ast.LiteralKind && m.AccuInit().AsLiteral() == types.IntZero {
			return quantity{function: "single", condition: args[0]}, true
		}
		return quantity{function: "selected", condition: args[0], transformed: args[1].AsCall().Args()[1].AsList().Elements()[0]}, true
	}
	return quantity{}, false
}
