package extension

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/writ-policy/writ/rego"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/syntax"
)

// SameMinion is the one restriction that is built in and written as a kind.
const SameMinion = "sameMinionRestriction"

// builtins are the names an extension cannot have: a rule that writes one of
// them never means the directory's own Rego.
var builtins = []string{SameMinion, "fieldsMutatable", "labelsContain", "fieldsSelect", "cel"}

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
	if len(r.modules) == 0 {
		return
	}
	var texts []byte
	slowest := r.modules[0]
	for _, e := range r.modules {
		if e.took < 0 {
			return // it was reported where it was read, and the others may need it
		}
		if e.took > slowest.took {
			slowest = e
		}
		texts = append(append(texts, e.Source...), 0)
	}
	modules := slices.Clone(r.modules)
	list, err := rego.All(authorOf(slowest), texts, func() diag.List { return compile(modules, ast.NewCompiler()) })
	if err != nil {
		list.Add(refusalDiagnostic(slowest, err, "with the other extensions, of which it takes most, it "))
	}
	r.List = append(r.List, list...)
}

// compile compiles modules, after a look at their types.
func compile(extensions []*Extension, compiler *ast.Compiler) (out diag.List) {
	modules := make(map[string]*ast.Module, len(extensions))
	list := make([]*ast.Module, 0, len(extensions))
	for _, e := range extensions {
		modules[e.File] = e.Module
		list = append(list, e.Module)
	}
	if rule := LargeType(list...); rule != nil {
		out.Add(diag.Diagnostic{
			Position: diag.Position{File: rule.Location.File, Line: rule.Location.Row, Column: rule.Location.Col}, Code: diag.Rego,
			Message: fmt.Sprintf("the type of a value in rule %s has more than %d parts", rule.Head.Name, MaxType), Hint: LargeTypeHint,
		})
		return out
	}
	compiler.SetErrorLimit(0).WithDefaultRegoVersion(ast.RegoV1).Compile(modules)
	for _, err := range compiler.Errors {
		out.Add(regoDiagnostic(err))
	}
	return out
}

// compileAlone compiles one module, to find whether that takes too long. Its mistakes are
// found with the others, without which its references lead nowhere.
func compileAlone(b *rego.Budget, e *Extension) (took time.Duration, refused *diag.Diagnostic) {
	// Functions of other modules are not known. The compiler would end at the first one.
	compiler := ast.NewCompiler().WithSkipStages(ast.StageCheckUndefinedFuncs)
	_, took, err := rego.One(b, authorOf(e), e.Source, func() diag.List { return compile([]*Extension{e}, compiler) })
	if err != nil {
		d := refusalDiagnostic(e, err, "the module ")
		return -1, &d
	}
	return took, nil
}

func authorOf(e *Extension) rego.Author {
	return rego.Author{File: e.At.File, Line: e.At.Line, Column: e.At.Column}
}

// refusalDiagnostic reports that modules were not compiled.
func refusalDiagnostic(e *Extension, err error, what string) diag.Diagnostic {
	return diag.Diagnostic{Position: e.At, Code: RefusalCode(err), Message: what + err.Error(), Hint: rego.RefusalHint}
}

// RefusalCode is the code of a module that was not compiled: another one where the reason is
// not the module, so that it is compiled again.
func RefusalCode(err error) diag.Code {
	if refusal, ok := errors.AsType[*rego.Refusal](err); ok && !refusal.IsFinal {
		return diag.Interrupted
	}
	return diag.Rego
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

// packageLine is the statement that a module begins with, as far as it is plain.
var packageLine = regexp.MustCompile(`^package[ \t]+([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*)[ \t]*(?:#.*)?$`)

// foreignModule returns the module of another project, such as a test of Conftest, or nil if
// a file may be an extension: one with a mistake is an error. It reads the first
// statement alone, because modules of others may be of another version of Rego.
func foreignModule(file string, content []byte) *syntax.Skipped {
	line := 0
	for text := range bytes.Lines(content) {
		line++
		statement := strings.TrimSpace(string(text))
		if statement == "" || strings.HasPrefix(statement, "#") {
			continue
		}
		m := packageLine.FindStringSubmatch(statement)
		if m == nil || isNearExtensions(strings.Split(m[1], ".")) {
			return nil
		}
		name, _ := syntax.Shorten("package " + m[1])
		return &syntax.Skipped{
			At:         diag.Position{File: file, Line: line, Column: 1 + bytes.Index(text, []byte("package"))},
			Length:     len("package"),
			APIVersion: name, Kind: "Rego module",
		}
	}
	return nil
}

// isNearExtensions reports whether the name of a package is below writ, or has a word that
// looks like one of writ.extensions.
func isNearExtensions(path []string) bool {
	for _, word := range path[:min(len(path), 2)] {
		if word = strings.ToLower(word); diag.Edits(word, "writ") <= 1 || diag.Edits(word, "extensions") <= 2 {
			return true
		}
	}
	return false
}
