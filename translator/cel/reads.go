package cel

import (
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/writ-policy/writ/translator/regotext"
)

// Reads returns the paths of all values that the expression can read: a variable, then
// names of fields, also those written as keys. It reads all of the value at a path. It
// returns false if the expression is not valid in env.
func Reads(text string, env Env) (paths [][]string, ok bool) {
	_, checked, problem := env.parse(text, false)
	if problem != nil {
		return nil, false
	}
	r := reader{variables: env.Variables}
	r.read(checked.NativeRep().Expr())
	return r.paths, true
}

// reader collects paths and constants. A variable of a macro that has the name of a variable
// of the environment is taken for the latter, which adds paths.
type reader struct {
	variables []string
	paths     [][]string
	constants []any // texts, numbers and booleans
	hasMacro  bool
}

func (r *reader) read(e ast.Expr) {
	if path := r.path(e); path != nil {
		r.paths = append(r.paths, path)
		return
	}
	switch e.Kind() {
	case ast.LiteralKind:
		r.constants = append(r.constants, e.AsLiteral().Value())
	case ast.SelectKind:
		r.read(e.AsSelect().Operand())
	case ast.CallKind:
		call := e.AsCall()
		if call.IsMemberFunction() {
			r.read(call.Target())
		}
		r.readAll(call.Args())
	case ast.ListKind:
		r.readAll(e.AsList().Elements())
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			r.read(entry.AsMapEntry().Key())
			r.read(entry.AsMapEntry().Value())
		}
	case ast.StructKind:
		for _, field := range e.AsStruct().Fields() {
			r.read(field.AsStructField().Value())
		}
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		r.hasMacro = true
		r.readAll([]ast.Expr{c.IterRange(), c.AccuInit(), c.LoopCondition(), c.LoopStep(), c.Result()})
	}
}

func (r *reader) readAll(list []ast.Expr) {
	for _, e := range list {
		r.read(e)
	}
}

// path returns the path of a variable and its fields, nil for another expression.
func (r *reader) path(e ast.Expr) []string {
	switch e.Kind() {
	case ast.IdentKind:
		if name := variableName(e); slices.Contains(r.variables, name) {
			return []string{name}
		}
	case ast.SelectKind:
		return r.member(e.AsSelect().Operand(), e.AsSelect().FieldName())
	case ast.CallKind:
		if call := e.AsCall(); call.FunctionName() == operators.Index && call.Args()[1].Kind() == ast.LiteralKind {
			if key, isText := call.Args()[1].AsLiteral().(types.String); isText {
				return r.member(call.Args()[0], string(key))
			}
		}
	}
	return nil
}

// variableName returns the name of a variable of the environment. CEL writes it with a dot in front
// where a variable of a macro has the same name.
func variableName(e ast.Expr) string { return strings.TrimPrefix(e.AsIdent(), ".") }

func (r *reader) member(of ast.Expr, name string) []string {
	if path := r.path(of); path != nil {
		return append(path, name)
	}
	return nil
}

// Rego returns the rules of the program. Other rules of the module must not begin with
// this name. A predicate has the rules NAME_true, NAME_false and NAME_error; at most
// one is true, and none if a key is missing. Any other expression has the rule
// NAME_value, which is undefined without a value. The rules call the library's
// package writ.cel by its full name, so the module needs no import.
func (p *Program) Rego(name string) string {
	var out strings.Builder
	for line := range strings.Lines(p.text) {
		fmt.Fprintf(&out, "# %s\n", regotext.Comment(strings.TrimSuffix(line, "\n")))
	}
	rules := append([]string{p.value}, p.rules...)
	if p.conditions == nil {
		rules = append(rules, selfPlaceholder+"_value := "+call("as_json", selfPlaceholder)+"\n")
	} else {
		rules = append(rules,
			conditional(selfPlaceholder+"_true", p.conditions.whenTrue), conditional(selfPlaceholder+"_false", p.conditions.whenFalse),
			conditional(selfPlaceholder+"_error", [][]string{{"not " + selfPlaceholder + "_true", "not " + selfPlaceholder + "_false", call("broken", selfPlaceholder)}}),
		)
	}
	out.WriteString(strings.Join(rules, "\n"))
	return strings.ReplaceAll(out.String(), selfPlaceholder, name)
}
