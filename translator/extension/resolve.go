package extension

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/writ-policy/writ/rego"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
)

// SameMinion is the one restriction that is built in and written as a kind.
const SameMinion = "sameMinionRestriction"

// builtins are the names an extension cannot have: a rule that writes one of
// them never means the directory's own Rego.
var builtins = []string{SameMinion, "fieldsMutatable", "labelsContain", "cel"}

// resolve compiles the modules of a directory together and returns them
// sorted by package and file.
func resolve(d *directory.Directory) []*Extension {
	r := &resolver{Directory: d, modules: directory.DocumentsOf[*Extension](d)}
	slices.SortStableFunc(r.modules, func(a, b *Extension) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.File, b.File))
	})
	for _, e := range r.modules {
		if slices.Contains(builtins, e.Name) {
			r.List.Add(diag.Diagnostic{
				Position: e.At,
				Code:     diag.UnsafeExtension,
				Message:  fmt.Sprintf("package writ.extensions.%s has the name of a built-in restriction", e.Name),
				Hint:     "give the package another name",
			})
		}
	}
	r.compile()
	return r.modules
}

// resolver is the state of compiling the modules of one directory.
type resolver struct {
	*directory.Directory
	modules []*Extension
}

// compile checks the modules together, as a bundle will hold them. Built-ins
// that an extension may not use were refused where each file was read, and are
// known here, so that none is reported twice. The compiler copies the modules.
func (r *resolver) compile() {
	modules := make(map[string]*ast.Module, len(r.modules))
	var list []*ast.Module
	for _, e := range r.modules {
		if e.Module != nil {
			modules[e.File] = e.Module
			list = append(list, e.Module)
		}
	}
	if len(modules) == 0 {
		return
	}
	if rule := LargeType(list...); rule != nil {
		r.List.Add(diag.Diagnostic{
			Position: diag.Position{File: rule.Location.File, Line: rule.Location.Row, Column: rule.Location.Col}, Code: diag.Rego,
			Message: fmt.Sprintf("the type of a value in rule %s has more than %d parts", rule.Head.Name, MaxType), Hint: LargeTypeHint,
		})
		return
	}
	compiler := ast.NewCompiler().SetErrorLimit(0).WithDefaultRegoVersion(ast.RegoV1)
	rego.Compile(func() { compiler.Compile(modules) })
	for _, err := range compiler.Errors {
		r.List.Add(regoDiagnostic(err))
	}
}

// regoDiagnostic is one of the compiler's errors. Its own text repeats the
// place, so only the message is taken.
func regoDiagnostic(err *ast.Error) diag.Diagnostic {
	d := diag.Diagnostic{Code: diag.Rego, Message: err.Message}
	if err.Location != nil {
		d.Position = diag.Position{File: err.Location.File, Line: err.Location.Row, Column: err.Location.Col}
	}
	return d
}
