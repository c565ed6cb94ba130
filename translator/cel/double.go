package cel

import (
	"slices"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

// A whole double loses its type in a list, because lists are JSON. If all elements of
// a list are certain to be doubles, its elements are marked as doubles when they are
// read. The checker's types do not help: it selects any type that fits for dyn.

// isDouble reports whether the value of an expression, if it has one, is a double.
func (c *compiler) isDouble(e ast.Expr) bool {
	switch e.Kind() {
	case ast.LiteralKind:
		_, ok := e.AsLiteral().(types.Double)
		return ok
	case ast.IdentKind:
		return c.locals[e.AsIdent()].isDouble
	case ast.CallKind:
		args := e.AsCall().Args()
		switch e.AsCall().FunctionName() {
		case "double":
			return true
		case operators.Negate:
			return c.isDouble(args[0])
		case operators.Add, operators.Subtract, operators.Multiply, operators.Divide:
			return c.isDouble(args[0]) || c.isDouble(args[1])
		case operators.Conditional:
			return c.isDouble(args[1]) && c.isDouble(args[2])
		case operators.Index:
			return c.isDoubleList(args[0])
		}
	}
	return false
}

// isDoubleList reports whether the value of an expression, if it has one, is a list of doubles.
func (c *compiler) isDoubleList(e ast.Expr) bool {
	switch e.Kind() {
	case ast.ListKind:
		return !slices.ContainsFunc(e.AsList().Elements(), func(element ast.Expr) bool { return !c.isDouble(element) })
	case ast.CallKind:
		args := e.AsCall().Args()
		return e.AsCall().FunctionName() == operators.Add && c.isDoubleList(args[0]) && c.isDoubleList(args[1])
	case ast.ComprehensionKind:
		m := e.AsComprehension()
		q, ok := parseMacro(m)
		if !ok || q.transformed == nil {
			return false
		}
		leave := c.declare(m.IterVar(), local{isDouble: c.isDoubleList(m.IterRange())})
		defer leave()
		return c.isDouble(q.transformed)
	}
	return false
}

// markDouble marks a term that is read from a list of doubles as a double.
func (c *compiler) markDouble(e ast.Expr, term string) string {
	if c.isDouble(e) {
		return call("real", term)
	}
	return term
}
