package cel

import (
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

// A double that is whole loses its type in a list, which is JSON's. Where everything
// in a list is sure to be a double, what is read from it is marked as one again. The
// checker's types are no help: it takes what is read from dyn for whatever fits.

// real reports whether an expression that has a value has a double.
func (c *compiler) real(e ast.Expr) bool {
	switch e.Kind() {
	case ast.LiteralKind:
		_, ok := e.AsLiteral().(types.Double)
		return ok
	case ast.IdentKind:
		return c.locals[e.AsIdent()].real
	case ast.CallKind:
		args := e.AsCall().Args()
		switch e.AsCall().FunctionName() {
		case "double":
			return true
		case operators.Negate:
			return c.real(args[0])
		case operators.Add, operators.Subtract, operators.Multiply, operators.Divide:
			return c.real(args[0]) || c.real(args[1])
		case operators.Conditional:
			return c.real(args[1]) && c.real(args[2])
		case operators.Index:
			return c.reals(args[0])
		}
	}
	return false
}

// reals reports whether an expression that has a value has a list of doubles alone.
func (c *compiler) reals(e ast.Expr) bool {
	switch e.Kind() {
	case ast.ListKind:
		for _, element := range e.AsList().Elements() {
			if !c.real(element) {
				return false
			}
		}
		return true
	case ast.CallKind:
		args := e.AsCall().Args()
		return e.AsCall().FunctionName() == operators.Add && c.reals(args[0]) && c.reals(args[1])
	case ast.ComprehensionKind:
		m := e.AsComprehension()
		q, ok := quantityOf(m)
		if !ok || q.transformed == nil {
			return false
		}
		leave := c.enter(m.IterVar(), local{real: c.reals(m.IterRange())})
		defer leave()
		return c.real(q.transformed)
	}
	return false
}

// marked is a term that is read from a list, a double if that has nothing else.
func (c *compiler) marked(e ast.Expr, term string) string {
	if c.real(e) {
		return call("real", term)
	}
	return term
}
