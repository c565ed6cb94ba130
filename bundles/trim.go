package bundles

import "github.com/open-policy-agent/opa/v1/ast"

// trim removes from a parsed module what no evaluation reads: comments, and the text of the file,
// which each place holds. Places with the same line and column are one. A constant list, set or
// object has one place, since nothing in it can fail: large ones have thousands of terms, and each
// place is larger than its term.
func trim(module *ast.Module) {
	module.Comments = nil
	t := trimmer{make(map[position]*ast.Location)}
	visitor := ast.NewGenericVisitor(t.visit)
	visitor.Walk(module)
}

type position struct{ row, column int }

type trimmer struct {
	places map[position]*ast.Location
}

// visit returns true if it has visited what is below a node.
func (t *trimmer) visit(node any) bool {
	if located, ok := node.(ast.Node); ok && located.Loc() != nil {
		located.SetLoc(t.place(located.Loc()))
	}
	switch x := node.(type) {
	case *ast.Head: // OPA does not visit its reference
		ast.NewGenericVisitor(t.visit).Walk(x.Reference)
	case *ast.Term:
		if x.Location != nil && isConstant(x.Value) {
			setPlaces(x.Value, x.Location)
			return true
		}
	}
	return false
}

// place returns the one place of the row and the column of a place.
func (t *trimmer) place(of *ast.Location) *ast.Location {
	at := position{of.Row, of.Col}
	if t.places[at] == nil {
		t.places[at] = ast.NewLocation(nil, of.File, of.Row, of.Col)
	}
	return t.places[at]
}

// isConstant reports whether a value is a list, a set or an object without variables, references
// and calls.
func isConstant(value ast.Value) bool {
	switch value.(type) {
	case *ast.Array, ast.Set, ast.Object:
		return ast.IsConstant(value)
	}
	return false
}

// setPlaces sets the place of all terms of a constant.
func setPlaces(constant ast.Value, place *ast.Location) {
	ast.WalkTerms(constant, func(term *ast.Term) bool {
		if term.Location != nil {
			term.Location = place
		}
		return false
	})
}
