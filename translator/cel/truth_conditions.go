package cel

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/writ-policy/writ/translator/regotext"
)

// selfPlaceholder stands for the name of the program until it is known. JSON strings
// cannot contain this character unescaped.
const selfPlaceholder = "\x00"

// truthConditions state when an expression is true and when it is false. Each is a
// list of alternatives, and an alternative is a list of Rego conditions that must all
// hold. If the expression reads a missing key or fails, neither holds, because a
// condition that reads it is undefined.
type truthConditions struct {
	whenTrue, whenFalse [][]string
}

// single returns conditions with one alternative each.
func single(whenTrue, whenFalse []string) truthConditions {
	return truthConditions{[][]string{whenTrue}, [][]string{whenFalse}}
}

func (h truthConditions) inverse() truthConditions { return truthConditions{h.whenFalse, h.whenTrue} }

// conditions splits a condition into parts that Rego expresses directly, for its rule
// index, and parts that call functions of the library.
func (c *compiler) conditions(e ast.Expr) truthConditions {
	if e.Kind() == ast.LiteralKind && e.AsLiteral() == types.True {
		return truthConditions{whenTrue: [][]string{{"true"}}}
	}
	if e.Kind() == ast.LiteralKind && e.AsLiteral() == types.False {
		return truthConditions{whenFalse: [][]string{{"true"}}}
	}
	if e.Kind() == ast.CallKind {
		switch e.AsCall().FunctionName() {
		case operators.LogicalNot:
			return c.conditions(e.AsCall().Args()[0]).inverse()
		case operators.LogicalAnd:
			return c.all(operands(e, operators.LogicalAnd), false)
		case operators.LogicalOr: // not all are false
			return c.all(operands(e, operators.LogicalOr), true).inverse()
		}
	}
	if h, ok := c.direct(e); ok {
		return h
	}
	name := c.helper()
	c.rules = append(c.rules, c.defined(name, e))
	return single([]string{call("holds", name)}, []string{call("fails", name)})
}

// rootConditions returns the conditions of a whole expression. If they only call
// functions of the library, they use the value of the program itself.
func (c *compiler) rootConditions(e ast.Expr) truthConditions {
	h := c.conditions(e)
	if len(c.rules) == 1 && len(h.whenTrue) == 1 && slices.Equal(h.whenTrue[0], []string{call("holds", selfPlaceholder+"_1")}) {
		c.rules = nil
		return single([]string{call("holds", selfPlaceholder)}, []string{call("fails", selfPlaceholder)})
	}
	return h
}

// all returns when all terms are true, and when one is false, of the inverse terms if isInverse
// is set.
func (c *compiler) all(terms []ast.Expr, isInverse bool) truthConditions {
	out := truthConditions{whenTrue: [][]string{nil}}
	for _, term := range terms {
		h := c.conditions(term)
		if isInverse {
			h = h.inverse()
		}
		out.whenFalse = append(out.whenFalse, h.whenFalse...)
		if out.whenTrue == nil || h.whenTrue == nil {
			out.whenTrue = nil
			continue
		}
		out.whenTrue[0] = append(out.whenTrue[0], c.singleCondition(h.whenTrue)...)
	}
	return out
}

// singleCondition returns the conditions of the only alternative, or one helper rule
// with all alternatives.
func (c *compiler) singleCondition(alternatives [][]string) []string {
	if len(alternatives) == 1 {
		return alternatives[0]
	}
	name := c.helper()
	c.rules = append(c.rules, conditional(name, alternatives))
	return []string{name}
}

func (c *compiler) helper() string {
	c.helpers++
	return selfPlaceholder + "_" + strconv.Itoa(c.helpers)
}

// conditional returns a rule that is true if any of the alternatives holds.
func conditional(name string, alternatives [][]string) string {
	var out strings.Builder
	for i, conditions := range alternatives {
		if i > 0 {
			out.WriteString("\n")
		}
		switch {
		case len(conditions) == 1 && conditions[0] == "true":
			out.WriteString(name + " := true\n")
		case len(conditions) == 1:
			out.WriteString(name + " if " + conditions[0] + "\n")
		default:
			out.WriteString(name + " if {\n\t" + strings.Join(conditions, "\n\t") + "\n}\n")
		}
	}
	if len(alternatives) == 0 {
		out.WriteString(name + " if false\n")
	}
	return out.String()
}

// ref returns the Rego reference of a path of fields. It is undefined if a key is missing.
func (c *compiler) ref(e ast.Expr) (string, bool) {
	keys, ok := c.keys(e)
	if !ok || c.isTime(keys) {
		return "", false
	}
	ref := c.variable(keys[0])
	for _, key := range keys[1:] {
		if word.MatchString(key) && !slices.Contains(keywords, key) {
			ref += "." + key
		} else {
			ref += "[" + regotext.Quote(key) + "]"
		}
	}
	return ref, true
}

var word = regexp.MustCompile(`^[a-z][A-Za-z0-9_]*$`)

// keywords cannot follow a dot in Rego.
var keywords = []string{"as", "contains", "default", "else", "every", "false", "if", "import", "in", "not", "null", "package", "some", "true", "with"}

// scalarLiteral returns a literal that Rego compares in the same way as CEL, and the
// built-in function that checks its type.
func scalarLiteral(e ast.Expr) (term, check string, ok bool) {
	if e.Kind() != ast.LiteralKind {
		return "", "", false
	}
	switch v := e.AsLiteral().(type) {
	case types.Bool:
		return strconv.FormatBool(bool(v)), "is_boolean", true
	case types.Null:
		return "null", "", true
	case types.String:
		return regotext.Quote(string(v)), "is_string", true
	case types.Int:
		return strconv.FormatInt(int64(v), 10), "is_number", true
	case types.Double:
		return strconv.FormatFloat(float64(v)+0, 'f', -1, 64), "is_number", !math.IsInf(float64(v), 0)
	}
	return "", "", false
}
