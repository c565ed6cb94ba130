package extension

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/writ-policy/writ/rego"
	"github.com/writ-policy/writ/rego/builtin"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/vocabulary"
)

// Limits on a Rego file, whose parser recurses without one of its own that is
// low enough, and on the name of its package in bytes.
const (
	MaxRegoBytes = 1 << 20
	maxRegoDepth = 300
	maxName      = 253
)

// kinds are Rego files.
var kinds = syntax.Kinds{{Suffix: ".rego", DecodeFile: decodeExtension}}

// decodeExtension parses a Rego file and refuses what would make decisions
// unrepeatable or reach outside the extensions. Whether it compiles is found out
// with the others it may import.
func decodeExtension(file string, content []byte, o syntax.Options) syntax.File {
	if len(content) > MaxRegoBytes {
		message := fmt.Sprintf("file of %d bytes, at most %d are read", len(content), MaxRegoBytes)
		return syntax.File{List: diag.List{{Position: diag.Position{File: file, Line: 1, Column: 1}, Code: diag.Rego, Message: message}}}
	}
	content, unclear := syntax.Readable(content)
	if unclear != nil {
		at := diag.Position{File: file, Line: unclear.Line, Column: unclear.Column}
		return syntax.File{List: diag.List{{Position: at, Code: diag.Rego, Message: unclear.Message, Hint: unclear.Hint}}}
	}
	if skipped := foreignModule(file, content); skipped != nil {
		return syntax.File{Skipped: []syntax.Skipped{*skipped}}
	}
	module, err := ParseRego(file, content, ast.ParserOptions{RegoVersion: ast.RegoV1, ProcessAnnotation: true})
	if err != nil {
		return syntax.File{List: regoDiagnostics(file, err)}
	}
	e := &extensionReader{file: file, seen: map[diag.Position]bool{}}
	e.read(module)
	if e.outside {
		return syntax.File{List: e.diags}
	}
	extension := &Extension{
		Header: syntax.Header{Family: family, Kind: "Extension", Name: e.name, Auxiliary: true, Shared: true},
		Module: module, Source: content, File: file, ReadsClock: e.clock,
	}
	extension.At = e.at(module.Package.Location)
	extension.NameAt = extension.At
	took, refused := compileAlone(o.Rego, extension)
	extension.took = took
	if refused != nil {
		e.diags.Add(*refused)
	}
	return syntax.File{Documents: []syntax.Document{extension}, List: e.diags}
}

// ParseRego parses twice: the first time to find nesting that the module parser
// would follow to any depth.
func ParseRego(file string, content []byte, options ast.ParserOptions) (module *ast.Module, err error) {
	defer func() {
		if r := recover(); r != nil {
			module, err = nil, fmt.Errorf("the parser gave up: %v", r)
		}
	}()
	shallow := ast.NewParser().WithMaxRecursionDepth(maxRegoDepth).WithFilename(file).
		WithRegoVersion(options.RegoVersion).WithReader(bytes.NewReader(content))
	if _, _, errs := shallow.Parse(); len(errs) > 0 {
		for _, e := range errs {
			if e.Message == ast.ErrMaxParsingRecursionDepthExceeded.Error() {
				e.Message = fmt.Sprintf("nested deeper than %d levels", maxRegoDepth)
				return nil, e // the parser is lost from there on
			}
		}
		return nil, errs
	}
	module, err = ast.ParseModuleWithOpts(file, string(content), options)
	switch {
	case err == nil && module == nil:
		err = errors.New("the file is empty")
	case err == nil:
		if long := checkLengths(module); long != nil {
			return nil, long
		}
	}
	return module, err
}

// regoDiagnostics turns the parser's errors into diagnostics. Their own text
// repeats the place and drops the column, so only the messages are taken.
func regoDiagnostics(file string, err error) diag.List {
	errs := rego.Errors(err)
	if errs == nil {
		errs = ast.Errors{{Message: err.Error()}}
	}
	var list diag.List
	for _, e := range errs {
		at := diag.Position{File: file, Line: 1, Column: 1}
		if e.Location != nil && e.Location.Row > 0 {
			at.Line, at.Column = e.Location.Row, max(e.Location.Col, 1)
		}
		list.Add(diag.Diagnostic{Position: at, Code: diag.Rego, Message: e.Message})
	}
	return list
}

// extensionReader looks through a module.
type extensionReader struct {
	file    string
	name    string
	outside bool // the package is not below writ.extensions
	clock   bool
	diags   diag.List
	// seen holds the places reported: the visitor may pass a reference twice.
	seen map[diag.Position]bool
}

func (e *extensionReader) at(l *ast.Location) diag.Position {
	if l == nil {
		return diag.Position{File: e.file, Line: 1, Column: 1}
	}
	return diag.Position{File: e.file, Line: max(l.Row, 1), Column: max(l.Col, 1)}
}

func (e *extensionReader) fail(l *ast.Location, length int, code diag.Code, hint, format string, args ...any) {
	at := e.at(l)
	if e.seen[at] {
		return
	}
	e.seen[at] = true
	e.diags.Add(diag.Diagnostic{Position: at, Length: length, Code: code, Message: fmt.Sprintf(format, args...), Hint: hint})
}

func (e *extensionReader) read(module *ast.Module) {
	at := module.Package.Location
	path, ok := below(module.Package.Path)
	if !ok || len(path) == 0 {
		e.outside = true
		name, _ := syntax.Shorten(module.Package.String())
		e.fail(at, 0, diag.UnsafeExtension, "write package writ.extensions.NAME", "%s is not below writ.extensions", name)
		return
	}
	e.name = strings.Join(path, ".")
	if len(e.name) > maxName {
		e.outside = true // the name becomes a path in the bundle
		e.fail(at, 0, diag.BadName, "", "package name of %d bytes: must be at most %d", len(e.name), maxName)
		return
	}
	for _, part := range path {
		if !syntax.IsIdentifier(part) {
			e.outside = true // the name becomes a path in the bundle
			e.fail(at, 0, diag.BadName, "letters, digits and _", "package name %s is not an identifier", syntax.Quote(part))
		}
	}
	RegoReferences(module, e.reference)
}

// below returns the parts of a reference below data.writ.extensions; false where
// it may lead elsewhere.
func below(ref ast.Ref) ([]string, bool) {
	if len(ref) < 3 || !ref[1].Equal(ast.StringTerm("writ")) || !ref[2].Equal(ast.StringTerm("extensions")) {
		return nil, false
	}
	var path []string
	for _, term := range ref[3:] {
		name, ok := term.Value.(ast.String)
		if !ok {
			break
		}
		path = append(path, string(name))
	}
	return path, true
}

// reference checks one reference, and the functions it may call.
func (e *extensionReader) reference(ref ast.Ref, at *ast.Location) {
	head, ok := ref[0].Value.(ast.Var)
	if !ok {
		return
	}
	name, _ := syntax.Shorten(ref.String())
	switch head {
	case "data":
		if _, inside := below(ref); !inside {
			e.fail(at, len(name), diag.UnsafeExtension, "an extension reads its arguments and data.writ.extensions", "%s is outside data.writ.extensions", name)
		}
	case "input":
		if len(ref) < 2 || !requestKey(ref[1]) {
			e.fail(at, len(name), diag.UnsafeExtension, "use the argument request", "%s is more than the request", name)
		}
	default:
		if name == ast.NowNanos.Name {
			e.clock = true
		}
		if reason, excluded := builtin.IsExcluded(name); excluded {
			hint := "docs/builtins.md lists the functions that may be called"
			if reason == builtin.Repeatable {
				hint = "pass the fact in the request's attributes"
			}
			e.fail(at, len(name), diag.UnsafeExtension, hint, "%s is not available: %s", name, reason)
		}
	}
}

// RegoReferences calls f for each reference of a module's rules, for each variable in
// them, which may be one, and for each import of data or input. The other imports,
// rego.v1 and future.keywords, name no document. f may be called twice for one place.
func RegoReferences(module *ast.Module, f func(ref ast.Ref, at *ast.Location)) {
	for _, i := range module.Imports {
		if ref, ok := i.Path.Value.(ast.Ref); ok && (ref.HasPrefix(ast.DefaultRootRef) || ref.HasPrefix(ast.InputRootRef)) {
			f(ref, i.Path.Location)
		}
	}
	var visit func(x any) (stop bool)
	visit = func(x any) (stop bool) {
		term, ok := x.(*ast.Term)
		if !ok {
			return false
		}
		switch v := term.Value.(type) {
		case ast.Ref:
			f(v, term.Location)
			if _, ok := v[0].Value.(ast.Var); !ok {
				return false
			}
			for _, part := range v[1:] {
				ast.NewGenericVisitor(visit).Walk(part)
			}
			return true
		case ast.Var:
			f(ast.Ref{term}, term.Location)
		}
		return false
	}
	for _, rule := range module.Rules {
		ast.NewGenericVisitor(visit).Walk(rule)
	}
}

// requestKey reports whether a term is a key of a request: what else an input holds is put there
// by the engine, and not by every engine.
func requestKey(term *ast.Term) bool {
	key, ok := term.Value.(ast.String)
	return ok && slices.Contains(vocabulary.RequestKeys, string(key))
}
