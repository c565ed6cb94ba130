package cel

import (
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
)

// direct is the halves of what Rego says in its own words: a path of fields by
// itself, compared, tested, or looked for in a list.
func (c *compiler) direct(e ast.Expr) (halves, bool) {
	if e.Kind() == ast.SelectKind && e.AsSelect().IsTestOnly() {
		return c.present(e)
	}
	if ref, ok := c.ref(e); ok {
		return pair([]string{ref + " == true"}, []string{ref + " == false"}), true
	}
	if e.Kind() != ast.CallKind {
		return halves{}, false
	}
	f := e.AsCall()
	if f.IsMemberFunction() && len(f.Args()) == 1 {
		return c.tested(f.Target(), f.FunctionName(), f.Args()[0])
	}
	if len(f.Args()) != 2 {
		return halves{}, false
	}
	left, right := f.Args()[0], f.Args()[1]
	switch f.FunctionName() {
	case operators.Equals:
		return c.compared(left, right)
	case operators.NotEquals:
		h, ok := c.compared(left, right)
		return h.inverse(), ok
	case operators.In:
		return c.within(left, right)
	}
	return c.ordered(left, f.FunctionName(), right)
}

// compared is the equality of a path with a literal or another path.
func (c *compiler) compared(left, right ast.Expr) (halves, bool) {
	ref, ok := c.ref(left)
	if !ok {
		left, right = right, left
		ref, ok = c.ref(left)
	}
	other, _, isScalar := scalar(right)
	if !isScalar {
		another, isRef := c.ref(right)
		other, ok = another, ok && isRef
	}
	return pair([]string{ref + " == " + other}, []string{ref + " != " + other}), ok
}

// opposite is the order that holds where another does not.
var opposite = map[string][2]string{
	operators.Less: {"<", ">="}, operators.LessEquals: {"<=", ">"},
	operators.Greater: {">", "<="}, operators.GreaterEquals: {">=", "<"},
}

// ordered is a path before or after a number or a string.
func (c *compiler) ordered(left ast.Expr, operator string, right ast.Expr) (halves, bool) {
	ref, isRef := c.ref(left)
	bound, check, isScalar := scalar(right)
	signs, isOrder := opposite[operator]
	if !isRef || !isScalar || !isOrder || check == "" {
		return halves{}, false
	}
	guard := check + "(" + ref + ")"
	return pair([]string{guard, ref + " " + signs[0] + " " + bound}, []string{guard, ref + " " + signs[1] + " " + bound}), true
}

// tests are the methods of strings that Rego has built in, with their arguments in
// the order of Rego.
var tests = map[string]func(text, argument string) string{
	"startsWith": func(text, argument string) string { return "startswith(" + text + ", " + argument + ")" },
	"endsWith":   func(text, argument string) string { return "endswith(" + text + ", " + argument + ")" },
	"contains":   func(text, argument string) string { return "contains(" + text + ", " + argument + ")" },
	"matches":    func(text, argument string) string { return "regex.match(" + argument + ", " + text + ")" },
}

func (c *compiler) tested(target ast.Expr, method string, argument ast.Expr) (halves, bool) {
	ref, isRef := c.ref(target)
	text, check, isScalar := scalar(argument)
	test, isTest := tests[method]
	if !isRef || !isScalar || !isTest || check != "is_string" {
		return halves{}, false
	}
	guard := "is_string(" + ref + ")"
	return pair([]string{guard, test(ref, text)}, []string{guard, "not " + test(ref, text)}), true
}

// within is a string in a list or among the keys of a map that is read, or a path in a
// list of literals.
func (c *compiler) within(element, collection ast.Expr) (halves, bool) {
	if ref, ok := c.ref(element); ok {
		return among(ref, collection)
	}
	ref, isRef := c.ref(collection)
	text, check, isScalar := scalar(element)
	if !isRef || !isScalar || check != "is_string" {
		return halves{}, false
	}
	list, keyed := []string{"is_array(" + ref + ")"}, []string{"is_object(" + ref + ")"}
	return halves{
		yes: [][]string{append(list[:1:1], text+" in "+ref), append(keyed[:1:1], text+" in object.keys("+ref+")")},
		no:  [][]string{append(list[:1:1], "not "+text+" in "+ref), append(keyed[:1:1], "not "+text+" in object.keys("+ref+")")},
	}, true
}

// mostNamed is how many literals a list may have to be denied one by one.
const mostNamed = 16

// among is a path in a list of literals. It is none of them if it differs from each,
// which what is missing does not.
func among(ref string, collection ast.Expr) (halves, bool) {
	if collection.Kind() != ast.ListKind || collection.AsList().Size() == 0 || collection.AsList().Size() > mostNamed {
		return halves{}, false
	}
	var terms, differ []string
	for _, element := range collection.AsList().Elements() {
		term, _, ok := scalar(element)
		if !ok {
			return halves{}, false
		}
		terms, differ = append(terms, term), append(differ, ref+" != "+term)
	}
	return pair([]string{ref + " in " + array(terms)}, differ), true
}

// present is whether what has a path has a field as well. Only a list is asked in vain.
func (c *compiler) present(e ast.Expr) (halves, bool) {
	s := e.AsSelect()
	ref, ok := c.ref(s.Operand())
	has := quote(s.FieldName()) + " in object.keys(" + ref + ")"
	return halves{
		yes: [][]string{{"is_object(" + ref + ")", has}},
		no: [][]string{
			{"is_object(" + ref + ")", "not " + has},
			{"is_object(" + ref + ") == false", "is_array(" + ref + ") == false"},
		},
	}, ok
}
