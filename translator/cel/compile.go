package cel

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	celgo "cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/regotext"
)

// library is the package whose functions a compiled expression calls.
const library = "data.writ.cel."

// Program is an expression compiled to Rego.
type Program struct {
	text string
	// rules are helper rules of the value and the conditions.
	rules []string
	// value is the rule whose value is that of the expression, or its error.
	value string
	// conditions state when a predicate is true and false. Nil for other expressions.
	conditions *truthConditions
}

// CompilePredicate compiles an expression of type bool. Its rules state when it is
// true, when it is false and when its evaluation fails.
func CompilePredicate(text string, env Env) (*Program, *Problem) {
	c, e, problem := env.compiler(text, true)
	if problem != nil {
		return nil, problem
	}
	p := Program{text: text, value: c.defined(selfPlaceholder, e)}
	h := c.rootConditions(e)
	p.conditions, p.rules = &h, c.rules
	if c.problem != nil {
		return nil, c.problem
	}
	return &p, nil
}

// CompileExpression compiles an expression of any type to a rule with its value.
func CompileExpression(text string, env Env) (*Program, *Problem) {
	c, e, problem := env.compiler(text, false)
	if problem != nil {
		return nil, problem
	}
	p := Program{text: text, value: c.defined(selfPlaceholder, e)}
	if c.problem != nil {
		return nil, c.problem
	}
	return &p, nil
}

func (e Env) compiler(text string, predicate bool) (*compiler, ast.Expr, *Problem) {
	_, checked, problem := e.parse(text, predicate)
	if problem != nil {
		return nil, nil, problem
	}
	return &compiler{env: e, checked: checked, locals: map[string]local{}}, checked.NativeRep().Expr(), nil
}

// compiler writes an expression as a Rego term. The terms of the library's
// functions are always defined, so the compiler need not know which terms may fail.
type compiler struct {
	env     Env
	checked *celgo.Ast
	// locals are the variables of the enclosing macros, by their names in CEL.
	locals map[string]local
	body   []string
	// rules are helper rules, and helpers is how many names they have.
	rules   []string
	helpers int
	// names counts the variables of the program, so that nested bodies use different ones.
	names   int
	problem *Problem
}

// local is the variable of a macro.
type local struct {
	term string
	// isDouble is true if every value of the variable is a double.
	isDouble bool
}

// declare adds a local variable, which may shadow another. The returned function
// restores the previous state.
func (c *compiler) declare(name string, l local) func() {
	before, shadows := c.locals[name]
	c.locals[name] = l
	return func() {
		delete(c.locals, name)
		if shadows {
			c.locals[name] = before
		}
	}
}

// reject records that an expression is not supported. Only the first is kept.
func (c *compiler) reject(e ast.Expr, format string, args ...any) string {
	if c.problem == nil {
		c.problem = problemAt(c.checked, e.ID(), format, args...)
	}
	return "null"
}

func call(function string, args ...string) string {
	return library + function + "(" + strings.Join(args, ", ") + ")"
}

func array(terms []string) string { return "[" + strings.Join(terms, ", ") + "]" }

func (c *compiler) expression(e ast.Expr) string {
	switch e.Kind() {
	case ast.LiteralKind:
		return c.literal(e)
	case ast.IdentKind:
		return c.markDouble(e, c.identifier(e))
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
	return c.reject(e, "messages are not supported")
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
		return regotext.Quote(string(v))
	case types.Double:
		return double(float64(v))
	}
	return c.reject(e, "literals of type %s are not supported", e.AsLiteral().Type().TypeName())
}

// double returns the term of a double. A whole number carries its type, because it
// would be an int otherwise.
func double(f float64) string {
	text := strconv.FormatFloat(f, 'g', -1, 64)
	if f == math.Trunc(f) && f >= math.MinInt64 && f < math.MaxInt64 {
		return `{["double", ` + strconv.FormatFloat(f+0, 'f', -1, 64) + `]}`
	}
	return text
}

// defined returns a rule with this name and the value of an expression.
func (c *compiler) defined(name string, e ast.Expr) string {
	outer := c.body
	c.body = nil
	value := c.expression(e)
	statements := append(c.body, "value := "+value)
	c.body = outer
	if len(statements) == 1 {
		return name + " := " + value + "\n"
	}
	return name + " := value if {\n\t" + strings.ReplaceAll(strings.Join(statements, "\n"), "\n", "\n\t") + "\n}\n"
}

// keys returns the segments of a path that begins with a variable of the environment.
func (c *compiler) keys(e ast.Expr) ([]string, bool) {
	var keys []string
	for e.Kind() != ast.IdentKind {
		operand, key, ok := fieldAccess(e)
		if !ok {
			return nil, false
		}
		keys, e = append(keys, key), operand
	}
	name := variableName(e)
	if _, isLocal := c.locals[e.AsIdent()]; isLocal || !slices.Contains(c.env.Variables, name) {
		return nil, false
	}
	keys = append(keys, name)
	slices.Reverse(keys)
	return keys, true
}

// fieldAccess splits a.b or a["b"] into operand and field.
func fieldAccess(e ast.Expr) (operand ast.Expr, key string, ok bool) {
	if e.Kind() == ast.SelectKind {
		return e.AsSelect().Operand(), e.AsSelect().FieldName(), !e.AsSelect().IsTestOnly()
	}
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != operators.Index {
		return nil, "", false
	}
	args := e.AsCall().Args()
	if args[1].Kind() != ast.LiteralKind {
		return nil, "", false
	}
	text, ok := args[1].AsLiteral().(types.String)
	return args[0], string(text), ok
}

func (c *compiler) isTime(keys []string) bool {
	return len(c.env.Time) > 0 && slices.Equal(keys, c.env.Time)
}

// variable returns the Rego reference of a variable.
func (c *compiler) variable(name string) string {
	if term, ok := c.env.Terms[name]; ok {
		return term
	}
	return "input." + name
}

// path returns the term that reads a path, as a timestamp if it is one.
func (c *compiler) path(keys []string) string {
	if c.isTime(keys) {
		return call("timestamp", c.read(keys))
	}
	return c.read(keys)
}

func (c *compiler) read(keys []string) string {
	root := "input"
	if term, ok := c.env.Terms[keys[0]]; ok {
		root, keys = term, keys[1:]
	}
	quoted := elements.Map(keys, regotext.Quote)
	return call("path", root, array(quoted))
}

func (c *compiler) identifier(e ast.Expr) string {
	name := e.AsIdent()
	if l, ok := c.locals[name]; ok {
		return l.term
	}
	if keys, ok := c.keys(e); ok {
		return c.path(keys)
	}
	if t, ok := typeNames[name]; ok {
		return `{["type", ` + regotext.Quote(t) + `]}`
	}
	return c.reject(e, "%s is not supported", name)
}

var typeNames = map[string]string{
	"bool": "bool", "string": "string", "null_type": "null_type", "list": "list", "map": "map", "int": "int",
	"double": "double", "type": "type", "google.protobuf.Timestamp": "google.protobuf.Timestamp",
	"google.protobuf.Duration": "google.protobuf.Duration",
}

// selection compiles the access to a field, a path of fields that begins with a
// variable, or has(), the test for a field.
func (c *compiler) selection(e ast.Expr) string {
	s := e.AsSelect()
	if s.IsTestOnly() {
		return call("has", c.expression(s.Operand()), regotext.Quote(s.FieldName()))
	}
	if keys, ok := c.keys(e); ok {
		return c.path(keys)
	}
	return call("field", c.expression(s.Operand()), regotext.Quote(s.FieldName()))
}

// constant reports whether the expression is a literal with the same form in JSON.
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
		return c.reject(e, "optional elements are not supported")
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

// mapping returns the Rego of a map: an object if its entries are constants with different
// keys, else a call of the library.
func (c *compiler) mapping(e ast.Expr) string {
	var keys, values, pairs []string
	constants := true
	seen := map[string]bool{}
	for _, entry := range e.AsMap().Entries() {
		m := entry.AsMapEntry()
		if m.IsOptional() {
			return c.reject(m.Key(), "optional entries are not supported")
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

// name returns a new Rego variable.
func (c *compiler) name(hint string) string {
	c.names++
	return fmt.Sprintf("%s_%d", hint, c.names)
}

func (c *compiler) call(e ast.Expr) string {
	f := e.AsCall()
	switch f.FunctionName() {
	case operators.LogicalAnd:
		return call("conjunction", array(c.terms(operands(e, operators.LogicalAnd))))
	case operators.LogicalOr:
		return call("disjunction", array(c.terms(operands(e, operators.LogicalOr))))
	}
	if keys, ok := c.keys(e); ok {
		return c.path(keys)
	}
	args := f.Args()
	if f.IsMemberFunction() {
		args = append([]ast.Expr{f.Target()}, args...)
	}
	if part, ok := parts[f.FunctionName()]; ok {
		return c.part(args, part)
	}
	s, ok := functions[f.FunctionName()]
	if !ok {
		return c.reject(e, "%s is not supported", sourceName(f.FunctionName()))
	}
	name, terms := s.resolve(c.terms(args))
	if name == "" {
		return c.reject(e, "%s with %d arguments is not supported", sourceName(f.FunctionName()), len(args))
	}
	if f.FunctionName() == operators.Index {
		return c.markDouble(e, call(name, terms...))
	}
	return call(name, terms...)
}

func (c *compiler) terms(expressions []ast.Expr) []string {
	return elements.Map(expressions, c.expression)
}

// operands returns the operands of a chain of one operator.
func operands(e ast.Expr, operator string) []ast.Expr {
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != operator {
		return []ast.Expr{e}
	}
	var out []ast.Expr
	for _, arg := range e.AsCall().Args() {
		out = append(out, operands(arg, operator)...)
	}
	return out
}
