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
)

// here stands for the program's name in what is written before it is known. No JSON
// string has it as it is.
const here = "\x00"

// halves are when an expression is true and when it is false: alternatives, each a
// list of Rego conditions that must all hold. What is missing or fails is neither,
// since a condition that reads it is undefined.
type halves struct {
	yes, no [][]string
}

// pair is halves of one alternative each.
func pair(yes, no []string) halves { return halves{[][]string{yes}, [][]string{no}} }

func (h halves) inverse() halves { return halves{h.no, h.yes} }

// halves takes a condition apart into what Rego says directly, which its rule index
// can use, and what only the library's functions say.
func (c *compiler) halves(e ast.Expr) halves {
	if e.Kind() == ast.LiteralKind && e.AsLiteral() == types.True {
		return halves{yes: [][]string{{"true"}}}
	}
	if e.Kind() == ast.LiteralKind && e.AsLiteral() == types.False {
		return halves{no: [][]string{{"true"}}}
	}
	if e.Kind() == ast.CallKind {
		switch e.AsCall().FunctionName() {
		case operators.LogicalNot:
			return c.halves(e.AsCall().Args()[0]).inverse()
		case operators.LogicalAnd:
			return c.both(flat(e, operators.LogicalAnd))
		case operators.LogicalOr:
			return c.either(flat(e, operators.LogicalOr))
		}
	}
	if h, ok := c.direct(e); ok {
		return h
	}
	name := c.helper()
	c.rules = append(c.rules, c.defined(name, e))
	return pair([]string{call("holds", name)}, []string{call("fails", name)})
}

// outer is the halves of a whole condition: one that is only said by the library's
// functions is the program's own value.
func (c *compiler) outer(e ast.Expr) halves {
	h := c.halves(e)
	if len(c.rules) == 1 && len(h.yes) == 1 && slices.Equal(h.yes[0], []string{call("holds", here+"_1")}) {
		c.rules = nil
		return pair([]string{call("holds", here)}, []string{call("fails", here)})
	}
	return h
}

func (c *compiler) both(terms []ast.Expr) halves {
	out := halves{yes: [][]string{nil}}
	for _, term := range terms {
		h := c.halves(term)
		out.no = append(out.no, h.no...)
		switch {
		case out.yes == nil || h.yes == nil:
			out.yes = nil
		default:
			out.yes[0] = append(out.yes[0], c.one(h.yes)...)
		}
	}
	return out
}

func (c *compiler) either(terms []ast.Expr) halves {
	out := halves{no: [][]string{nil}}
	for _, term := range terms {
		h := c.halves(term)
		out.yes = append(out.yes, h.yes...)
		switch {
		case out.no == nil || h.no == nil:
			out.no = nil
		default:
			out.no[0] = append(out.no[0], c.one(h.no)...)
		}
	}
	return out
}

// one is the conditions of the only alternative, or a rule that has them all.
func (c *compiler) one(alternatives [][]string) []string {
	if len(alternatives) == 1 {
		return alternatives[0]
	}
	name := c.helper()
	c.rules = append(c.rules, conditional(name, alternatives))
	return []string{name}
}

func (c *compiler) helper() string {
	c.helpers++
	return here + "_" + strconv.Itoa(c.helpers)
}

// conditional is a rule that holds by any of the alternatives.
func conditional(name string, alternatives [][]string) string {
	var out strings.Builder
	for i, conditions := range alternatives {
		if i > 0 {
			out.WriteString("\n")
		}
		if len(conditions) == 1 {
			out.WriteString(name + " if " + conditions[0] + "\n")
			continue
		}
		out.WriteString(name + " if {\n\t" + strings.Join(conditions, "\n\t") + "\n}\n")
	}
	if len(alternatives) == 0 {
		out.WriteString(name + " if false\n")
	}
	return out.String()
}

// ref is what Rego reads a path of fields by, undefined where it is missing.
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
			ref += "[" + quote(key) + "]"
		}
	}
	return ref, true
}

var word = regexp.MustCompile(`^[a-z][A-Za-z0-9_]*$`)

// keywords cannot stand after a dot in a Rego that has them.
var keywords = []string{"as", "contains", "data", "default", "else", "every", "false", "if", "import", "in", "input", "not", "null", "package", "some", "true", "with"}

// scalar is a literal that Rego compares with as it stands.
func scalar(e ast.Expr) (term, check string, ok bool) {
	if e.Kind() != ast.LiteralKind {
		return "", "", false
	}
	switch v := e.AsLiteral().(type) {
	case types.Bool:
		return strconv.FormatBool(bool(v)), "is_boolean", true
	case types.Null:
		return "null", "", true
	case types.String:
		return quote(string(v)), "is_string", true
	case types.Int:
		return strconv.FormatInt(int64(v), 10), "is_number", true
	case types.Double:
		return strconv.FormatFloat(float64(v)+0, 'f', -1, 64), "is_number", !math.IsInf(float64(v), 0)
	}
	return "", "", false
}
