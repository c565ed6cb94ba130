package cel

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	celgo "cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

// library is the package whose functions a compiled expression calls.
const library = "data.writ.cel."

// Program is an expression compiled to Rego.
type Program struct {
	text string
	// body are the statements before the value: a macro is one, since it binds.
	body  []string
	value string
}

// CompilePredicate compiles a condition.
func CompilePredicate(text string, env Env) (*Program, *Problem) { return compile(text, env, true) }

// CompileExpression compiles an expression of any type.
func CompileExpression(text string, env Env) (*Program, *Problem) { return compile(text, env, false) }

func compile(text string, env Env, predicate bool) (*Program, *Problem) {
	_, checked, problem := env.parse(text, predicate)
	if problem != nil {
		return nil, problem
	}
	c := compiler{env: env, checked: checked, locals: map[string]local{}}
	value := c.expression(checked.NativeRep().Expr())
	if c.problem != nil {
		return nil, c.problem
	}
	return &Program{text, c.body, value}, nil
}

// compiler writes an expression as a Rego term. The terms of the library's
// functions are always defined, so nothing here has to know what may fail.
type compiler struct {
	env     Env
	checked *celgo.Ast
	// locals are the variables of the macros around, by their names in CEL.
	locals map[string]local
	body   []string
	// made counts the names of the program, whose nested bodies are apart.
	made    int
	problem *Problem
}

// local is the variable of a macro.
type local struct {
	term string
	// real says that it is a double, whatever element it is.
	real bool
}

// enter puts a variable in place of another of its name; what is returned undoes it.
func (c *compiler) enter(name string, l local) func() {
	before, shadows := c.locals[name]
	c.locals[name] = l
	return func() {
		delete(c.locals, name)
		if shadows {
			c.locals[name] = before
		}
	}
}

// refuse notes what the subset leaves out; the first stands.
func (c *compiler) refuse(e ast.Expr, format string, args ...any) string {
	if c.problem == nil {
		c.problem = at(c.checked, e.ID(), format, args...)
	}
	return "null"
}

func call(function string, args ...string) string {
	return library + function + "(" + strings.Join(args, ", ") + ")"
}

func array(terms []string) string { return "[" + strings.Join(terms, ", ") + "]" }

// quote writes text as a Rego string: JSON quoting, the one form that both read.
func quote(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string always has a JSON form
	}
	return string(quoted)
}

func (c *compiler) expression(e ast.Expr) string {
	switch e.Kind() {
	case ast.LiteralKind:
		return c.literal(e)
	case ast.IdentKind:
		return c.marked(e, c.identifier(e))
	case ast.SelectKind:
		return c.selection(e)
	case ast.CallKind:
		return c.call(e)
	case ast.ListKind:
		return c.list(e)
	case ast.MapKind:
		return c.mapping(e)
	case ast.ComprehensionKind:
		return c.macro(e)
	}
	return c.refuse(e, "messages are not supported")
}

func (c *compiler) literal(e ast.Expr) string {
	switch v := e.AsLiteral().(type) {
	case types.Null:
		return "null"
	case types.Bool:
		return strconv.FormatBool(bool(v))
	case types.Int:
		return strconv.FormatInt(int64(v), 10)
	case types.String:
		return quote(string(v))
	case types.Double:
		return double(float64(v))
	}
	return c.refuse(e, "literals of type %s are not supported", e.AsLiteral().Type().TypeName())
}

// double is a double, which needs its type beside it where it is whole.
func double(f float64) string {
	text := strconv.FormatFloat(f, 'g', -1, 64)
	if f == math.Trunc(f) && f >= math.MinInt64 && f < math.MaxInt64 {
		return `{["double", ` + strconv.FormatFloat(f+0, 'f', -1, 64) + `]}`
	}
	return text
}

func (c *compiler) root() string {
	if c.env.Root == "" {
		return "input"
	}
	return c.env.Root
}

func (c *compiler) identifier(e ast.Expr) string {
	name := e.AsIdent()
	if l, ok := c.locals[name]; ok {
		return l.term
	}
	if slices.Contains(c.env.Variables, strings.TrimPrefix(name, ".")) {
		return call("path", c.root(), array([]string{quote(strings.TrimPrefix(name, "."))}))
	}
	if t, ok := typeNames[name]; ok {
		return `{["type", ` + quote(t) + `]}`
	}
	return c.refuse(e, "%s is not supported", name)
}

var typeNames = map[string]string{
	"bool": "bool", "string": "string", "null_type": "null_type", "list": "list", "map": "map", "int": "int",
	"double": "double", "type": "type", "google.protobuf.Timestamp": "google.protobuf.Timestamp",
	"google.protobuf.Duration": "google.protobuf.Duration",
}

// selection is a field of a value, a whole path of them where it begins with a
// variable, or the question whether there is one.
func (c *compiler) selection(e ast.Expr) string {
	s := e.AsSelect()
	if s.IsTestOnly() {
		return call("has", c.expression(s.Operand()), quote(s.FieldName()))
	}
	var keys []string
	at := e
	for at.Kind() == ast.SelectKind && !at.AsSelect().IsTestOnly() {
		keys = append(keys, quote(at.AsSelect().FieldName()))
		at = at.AsSelect().Operand()
	}
	if at.Kind() == ast.IdentKind && c.locals[at.AsIdent()].term == "" && slices.Contains(c.env.Variables, at.AsIdent()) {
		keys = append(keys, quote(at.AsIdent()))
		slices.Reverse(keys)
		path := call("path", c.root(), array(keys))
		if c.env.Time != "" && array(keys) == c.env.Time {
			return call("timestamp", path)
		}
		return path
	}
	return call("field", c.expression(s.Operand()), quote(s.FieldName()))
}

// constant reports whether a term is a literal that JSON has.
func constant(e ast.Expr) bool {
	if e.Kind() != ast.LiteralKind {
		return false
	}
	f, isDouble := e.AsLiteral().(types.Double)
	return !isDouble || float64(f) != math.Trunc(float64(f))
}

func (c *compiler) list(e ast.Expr) string {
	l := e.AsList()
	if len(l.OptionalIndices()) > 0 {
		return c.refuse(e, "optional elements are not supported")
	}
	terms := make([]string, l.Size())
	constants := true
	for i, element := range l.Elements() {
		terms[i] = c.expression(element)
		constants = constants && constant(element)
	}
	if constants {
		return array(terms)
	}
	return call("list", array(terms))
}

func (c *compiler) mapping(e ast.Expr) string {
	var keys, values, pairs []string
	constants := true
	seen := map[string]bool{}
	for _, entry := range e.AsMap().Entries() {
		m := entry.AsMapEntry()
		if m.IsOptional() {
			return c.refuse(m.Key(), "optional entries are not supported")
		}
		key, value := c.expression(m.Key()), c.expression(m.Value())
		constants = constants && constant(m.Key()) && constant(m.Value()) && !seen[key]
		seen[key] = true
		keys, values, pairs = append(keys, key), append(values, value), append(pairs, key+": "+value)
	}
	if constants {
		return "{" + strings.Join(pairs, ", ") + "}"
	}
	return call("map", array(keys), array(values))
}

// name is a variable of Rego, of which the program has no other of that name.
func (c *compiler) name(hint string) string {
	c.made++
	return fmt.Sprintf("%s_%d", hint, c.made)
}

func (c *compiler) call(e ast.Expr) string {
	f := e.AsCall()
	switch f.FunctionName() {
	case operators.LogicalAnd:
		return call("conjunction", array(c.terms(e, operators.LogicalAnd)))
	case operators.LogicalOr:
		return call("disjunction", array(c.terms(e, operators.LogicalOr)))
	}
	args := f.Args()
	if f.IsMemberFunction() {
		args = append([]ast.Expr{f.Target()}, args...)
	}
	if part, ok := parts[f.FunctionName()]; ok {
		return c.part(e, args, part)
	}
	s, ok := functions[f.FunctionName()]
	if !ok {
		return c.refuse(e, "%s is not supported", shown(f.FunctionName()))
	}
	terms := make([]string, len(args))
	for i, arg := range args {
		terms[i] = c.expression(arg)
	}
	name, terms := s.applied(terms)
	if name == "" {
		return c.refuse(e, "%s with %d arguments is not supported", shown(f.FunctionName()), len(args))
	}
	if f.FunctionName() == operators.Index {
		return c.marked(e, call(name, terms...))
	}
	return call(name, terms...)
}

// terms are those of a chain of one operator.
func (c *compiler) terms(e ast.Expr, operator string) []string {
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != operator {
		return []string{c.expression(e)}
	}
	var out []string
	for _, arg := range e.AsCall().Args() {
		out = append(out, c.terms(arg, operator)...)
	}
	return out
}
