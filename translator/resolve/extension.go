package resolve

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/writ-policy/writ/rego"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/extension"
	"github.com/writ-policy/writ/translator/syntax"
)

// sameMinion is the one restriction that is built in and written as a kind.
const sameMinion = "sameMinionRestriction"

// builtins are the names an extension cannot have: a rule that writes one of
// them never means the directory's own Rego.
var builtins = []string{sameMinion, "fieldsMutatable", "labelsContain", "cel"}

// extensions compiles the directory's Rego together and follows the references
// of rules to it.
func (r *resolver) extensions() {
	slices.SortStableFunc(r.out.Extensions, func(a, b *extension.Extension) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.File, b.File))
	})
	for _, e := range r.out.Extensions {
		if slices.Contains(builtins, e.Name) {
			r.list.Add(diag.Diagnostic{
				Position: e.At,
				Code:     diag.UnsafeExtension,
				Message:  fmt.Sprintf("package writ.extensions.%s has the name of a built-in restriction", e.Name),
				Hint:     "give the package another name",
			})
		}
	}
	r.compile()
	r.extensionReferences()
}

// compile checks the modules together, as a bundle will hold them. Built-ins
// that an extension may not use were refused where each file was read, and are
// known here, so that none is reported twice. The compiler copies the modules.
func (r *resolver) compile() {
	modules := make(map[string]*ast.Module, len(r.out.Extensions))
	for _, e := range r.out.Extensions {
		if e.Module != nil {
			modules[e.File] = e.Module
		}
	}
	if len(modules) == 0 {
		return
	}
	compiler := ast.NewCompiler().SetErrorLimit(0).WithDefaultRegoVersion(ast.RegoV1)
	rego.Compile(func() { compiler.Compile(modules) })
	for _, err := range compiler.Errors {
		r.list.Add(regoDiagnostic(err))
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

// extensionReferences checks that every kind a rule names is an extension that
// can be asked.
func (r *resolver) extensionReferences() {
	declared := make(map[string]bool) // by name: whether holds takes two arguments
	for _, e := range r.out.Extensions {
		if strings.Contains(e.Name, ".") || strings.HasSuffix(e.Name, "_test") {
			continue // a library, or tests: no rule can name it
		}
		declared[e.Name] = declared[e.Name] || definesHolds(e.Module)
	}
	for _, role := range r.out.OriginRoles {
		for i := range role.Rules {
			restrictions := role.Rules[i].Restrictions
			// Without parameters the kind is built in, or was refused where it
			// was read.
			if restrictions != nil && restrictions.Params != nil {
				r.extensionReference(restrictions.Kind, declared)
			}
		}
	}
}

func (r *resolver) extensionReference(kind syntax.Text, declared map[string]bool) {
	holds, ok := declared[kind.Value]
	if holds {
		return
	}
	d := diag.Diagnostic{
		Position: kind.At,
		Length:   len([]rune(kind.Value)),
		Code:     diag.UnknownRestriction,
		Message:  fmt.Sprintf("restriction %q is neither built in nor an extension of this directory", kind.Value),
		Hint:     fmt.Sprintf("add a *.rego file with package writ.extensions.%s", kind.Value),
	}
	if ok {
		d.Message = fmt.Sprintf("package writ.extensions.%s has no function holds of two arguments", kind.Value)
		d.Hint = "define holds(request, params)"
	} else if r.suggested++; r.suggested <= maxSuggestions {
		if close := diag.Suggest(kind.Value, append(slices.Sorted(maps.Keys(declared)), sameMinion)); close != "" {
			d.Hint = fmt.Sprintf("did you mean %q?", close)
		}
	}
	r.list.Add(d)
}

// definesHolds reports whether a module defines holds(request, params).
func definesHolds(m *ast.Module) bool {
	if m == nil {
		return false
	}
	return slices.ContainsFunc(m.Rules, func(rule *ast.Rule) bool {
		return len(rule.Head.Args) == 2 && rule.Head.Ref().Equal(ast.Ref{ast.VarTerm("holds")})
	})
}
