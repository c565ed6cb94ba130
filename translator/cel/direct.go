package cel

import (
	"slices"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/writ-policy/writ/translator/regotext"
)

// direct compiles conditions that Rego expresses without the library: a path of
// fields by itself, compared, tested as a string, or searched in a list.
func (c *compiler) direct(e ast.Expr) (truthConditions, bool) {
	if e.Kind() == ast.SelectKind && e.AsSelect().IsTestOnly() {
		return c.presence(e)
	}
	if ref, ok := c.ref(e); ok {
		return single([]string{ref + " == true"}, []string{ref + " == false"}), true
	}
	if e.Kind() != ast.CallKind {
		return truthConditions{}, false
	}
	f := e.AsCall()
	if f.IsMemberFunction() && len(f.Args()) == 1 {
		return c.stringTest(f.Target(), f.FunctionName(), f.Args()[0])
	}
	if len(f.Args()) != 2 {
		return truthConditions{}, false
	}
	left, right := f.Args()[0], f.Args()[1]
	switch f.FunctionName() {
	case operators.Equals:
		return c.comparison(left, right)
	case operators.NotEquals:
		h, ok := c.comparison(left, right)
		return h.inverse(), ok
	case operators.In:
		return c.membership(left, right)
	}
	return c.ordering(left, f.FunctionName(), right)
}

// comparison compiles the equality of a path with a literal or another path.
func (c *compiler) comparison(left, right ast.Expr) (truthConditions, bool) {
	ref, ok := c.ref(left)
	if !ok {
		left, right = right, left
		ref, ok = c.ref(left)
	}
	other, _, isScalar := scalarLiteral(right)
	if !isScalar {
		another, isRef := c.ref(right)
		other, ok = another, ok && isRef
	}
	return single([]string{ref + " == " + other}, []string{ref + " != " + other}), ok
}

// opposite maps an operator to its Rego form and to the negation.
var opposite = map[string][2]string{
	operators.Less: {"<", ">="}, operators.LessEquals: {"<=", ">"},
	operators.Greater: {">", "<="}, operators.GreaterEquals: {">=", "<"},
}

// ordering compiles the order of a path and a number or a string.
func (c *compiler) ordering(left ast.Expr, operator string, right ast.Expr) (truthConditions, bool) {
	ref, isRef := c.ref(left)
	bound, check, isScalar := scalarLiteral(right)
	signs, isOrder := opposite[operator]
	if !isRef || !isScalar || !isOrder || check == "" {
		return truthConditions{}, false
	}
	guard := check + "(" + ref + ")"
	return single([]string{guard, ref + " " + signs[0] + " " + bound}, []string{guard, ref + " " + signs[1] + " " + bound}), true
}

// tests are the methods of strings for which Rego has a built-in function.
var tests = map[string]func(text, argument string) string{
	"startsWith": func(text, argument string) string { return "startswith(" + text + ", " + argument + ")" },
	"endsWith":   func(text, argument string) string { return "endswith(" + text + ", " + argument + ")" },
	"contains":   func(text, argument string) string { return "contains(" + text + ", " + argument + ")" },
	"matches":    func(text, argument string) string { return "regex.match(" + argument + ", " + text + ")" },
}

func (c *compiler) stringTest(target ast.Expr, method string, argument ast.Expr) (truthConditions, bool) {
	ref, isRef := c.ref(target)
	text, check, isScalar := scalarLiteral(argument)
	test, isTest := tests[method]
	if !isRef || !isScalar || !isTest || check != "is_string" {
		return truthConditions{}, false
	}
	guard := "is_string(" + ref + ")"
	return single([]string{guard, test(ref, text)}, []string{guard, "not " + test(ref, text)}), true
}

// membership compiles "in": a string in a list or among the keys of a map of the
// request, or a path in a list of literals.
func (c *compiler) membership(element, collection ast.Expr) (truthConditions, bool) {
	if ref, ok := c.ref(element); ok {
		return literalMembership(ref, collection)
	}
	ref, isRef := c.ref(collection)
	text, check, isScalar := scalarLiteral(element)
	if !isRef || !isScalar || check != "is_string" {
		return truthConditions{}, false
	}
	list, keyed := []string{"is_array(" + ref + ")"}, []string{"is_object(" + ref + ")"}
	return truthConditions{
		whenTrue:  [][]string{append(list[:1:1], text+" in "+ref), append(keyed[:1:1], text+" in object.keys("+ref+")")},
		whenFalse: [][]string{append(list[:1:1], "not "+text+" in "+ref), append(keyed[:1:1], "not "+text+" in object.keys("+ref+")")},
	}, true
}

// maxListedLiterals bounds the lists that are negated literal by literal.
const maxListedLiterals = 16

// literalMembership compiles a path in a list of literals. It is false if the path
// differs from each literal; a missing path differs from none.
func literalMembership(ref string, collection ast.Expr) (truthConditions, bool) {
	if collection.Kind() != ast.ListKind || collection.AsList().Size() == 0 || collection.AsList().Size() > maxListedLiterals {
		return truthConditions{}, false
	}
	var terms, differ []string
	for _, element := range collection.AsList().Elements() {
		term, _, ok := scalarLiteral(element)
		if !ok {
			return truthConditions{}, false
		}
		terms, differ = append(terms, term), append(differ, ref+" != "+term)
	}
	return single([]string{ref + " in " + array(terms)}, differ), true
}

// presence compiles has(). It is an error for a list, and false for other values
// that are not objects.
func (c *compiler) presence(e ast.Expr) (truthConditions, bool) {
	s := e.AsSelect()
	ref, ok := c.ref(s.Operand())
	has := regotext.Quote(s.FieldName()) + " in object.keys(" + ref + ")"
	return truthConditions{
		whenTrue: [][]string{{"is_object(" + ref + ")", has}},
		whenFalse: [][]string{
			{"is_object(" + ref + ")", "not " + has},
			{"is_object(" + ref + ") == false", "is_array(" + ref + ") == false"},
		},
	}, ok
}

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
