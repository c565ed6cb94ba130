package extension

import (
	"github.com/open-policy-agent/opa/v1/ast"
)

// Limits on what OPA's compiler needs more than linear time for: it orders the expressions
// of a body in the third power of their number, and reads the links of an else chain in the
// second.
const (
	maxBody  = 200 // expressions and calls of a body
	maxElse  = 100 // links of an else chain
	maxOrder = 4 * maxBody * maxBody * maxBody
)

// checkLengths returns an error for a module that takes long to compile; nil for others.
func checkLengths(module *ast.Module) *ast.Error {
	var found *ast.Error
	fail := func(at *ast.Location, format string, args ...any) {
		if found == nil {
			found = ast.NewError(ast.CompileErr, at, format, args...)
		}
	}
	order := 0 // the sum of the third powers of all bodies
	ast.WalkBodies(module, func(body ast.Body) bool {
		n := lengthOf(body)
		if n > maxBody {
			fail(body.Loc(), "a body of %d expressions and calls: must be at most %d", n, maxBody)
		} else if order += n * n * n; order > maxOrder {
			fail(body.Loc(), "the bodies up to here have too many expressions together")
		}
		return found != nil
	})
	for _, rule := range module.Rules {
		links := 0
		for r := rule.Else; r != nil; r = r.Else {
			links++
		}
		if links > maxElse {
			fail(rule.Loc(), "an else chain of %d links: must be at most %d", links, maxElse)
		}
	}
	return found
}

// lengthOf is the number of expressions of a body and of the calls in them, which become
// expressions. Bodies within it count for themselves.
func lengthOf(body ast.Body) int {
	n := len(body)
	for _, expression := range body {
		ast.NewGenericVisitor(func(x any) bool {
			switch x.(type) {
			case ast.Body:
				return true
			case ast.Call:
				n++
			}
			return false
		}).Walk(expression)
	}
	return n
}
