package document

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/format"

	"github.com/writ-policy/writ/rego"
	"github.com/writ-policy/writ/rego/builtin"
	"github.com/writ-policy/writ/translator/cel"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/extension"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// regoPackage is put before a body, on a line of its own, for the check.
const regoPackage = "package writ_policy\n"

// decodeRegoBody checks the body of a module, nil where it has mistakes. They are
// reported at the key, with the place within the text in the message.
func decodeRegoBody(d *syntax.Decoder, key, n *syntax.Node) *tables.RegoBody {
	r := &bodyReader{d: d, key: key}
	if len(n.Value) > extension.MaxRegoBytes {
		r.fail(nil, diag.Rego, "", "Rego of %d bytes, at most %d are read", len(n.Value), extension.MaxRegoBytes)
		return nil
	}
	source, module := r.parse(n.Value)
	if module == nil || !r.repeatable(module) || !r.compiles(source) {
		return nil
	}
	allowing := slices.ContainsFunc(module.Rules, allows)
	if !allowing {
		d.Warn(key, diag.RegoNoAllow, "write allow if { ... }", "no rule of the Rego is called allow, so it allows nothing")
	}
	return &tables.RegoBody{Source: source, Allows: allowing}
}

// allows reports whether a rule may make allow true.
func allows(rule *ast.Rule) bool {
	ref := rule.Head.Ref()
	return len(ref) == 1 && ref[0].Value.Compare(ast.Var("allow")) == 0 &&
		rule.Head.RuleKind() == ast.SingleValue && len(rule.Head.Args) == 0
}

// bodyReader checks one body.
type bodyReader struct {
	d   *syntax.Decoder
	key *syntax.Node
	// rewritten is true if places are those of the rewritten text, not of the document.
	rewritten bool
	seen      map[string]bool // messages already reported: the visitor may pass twice
	failed    bool
}

// fail reports a mistake, each text once, with its place in the body if that is known.
func (r *bodyReader) fail(at *ast.Location, code diag.Code, hint, message string, args ...any) {
	text := fmt.Sprintf(message, args...)
	if at != nil && at.Row > 1 && !r.rewritten {
		text = fmt.Sprintf("Rego, line %d, column %d: %s", at.Row-1, max(at.Col, 1), text)
	}
	if r.rewritten && hint == "" {
		hint = "the Rego is of the older version; write it as Rego v1"
	}
	r.failed = true
	if r.seen[text] {
		return
	}
	if r.seen == nil {
		r.seen = make(map[string]bool)
	}
	r.seen[text] = true
	r.d.Fail(r.key, code, hint, "%s", text)
}

// failAll reports what OPA says of a body.
func (r *bodyReader) failAll(err error) {
	errs := rego.Errors(err)
	if errs == nil {
		r.fail(nil, diag.Rego, "", "%s", err)
	}
	for _, e := range errs {
		message, _, _ := strings.Cut(e.Message, "\n")
		r.fail(e.Location, diag.Rego, "", "%s", strings.ReplaceAll(message, "data.writ_policy.", ""))
	}
}

// parse reads a body as Rego v1, or else as the older version, which is rewritten.
func (r *bodyReader) parse(body string) (string, *ast.Module) {
	text := []byte(regoPackage + body)
	module, err := extension.ParseRego("", text, ast.ParserOptions{RegoVersion: ast.RegoV1})
	if err == nil {
		return bodyOf(text, module), module
	}
	older, olderErr := extension.ParseRego("", text, ast.ParserOptions{RegoVersion: ast.RegoV0})
	if olderErr != nil || len(older.Rules) == 0 {
		r.failAll(err)
		return "", nil
	}
	r.rewritten = true
	text, err = rewrite(text)
	if err == nil {
		module, err = extension.ParseRego("", text, ast.ParserOptions{RegoVersion: ast.RegoV1})
	}
	if err != nil {
		r.failAll(err)
		return "", nil
	}
	r.d.Warn(r.key, diag.RegoV0, "write if before bodies and contains in partial sets", "this is Rego v0; it is rewritten as Rego v1")
	return strings.TrimLeft(bodyOf(text, module), "\n"), module
}

// rewrite rewrites a Rego v0 module as Rego v1. The formatter panics on some terms
// without a location.
func rewrite(text []byte) (out []byte, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			out, err = nil, fmt.Errorf("it cannot be rewritten as Rego v1: %v", cause)
		}
	}()
	return format.SourceWithOpts("", text, format.Opts{
		RegoVersion: ast.RegoV1, DropRedundantDirectiveImports: true,
		ParserOptions: &ast.ParserOptions{RegoVersion: ast.RegoV0},
	})
}

// bodyOf is the text of a module without its first line, the package. If a comment
// may be metadata, all comments are removed: an entrypoint or a schema of a policy's own
// would be the bundle's.
func bodyOf(text []byte, module *ast.Module) string {
	isMetadata := func(c *ast.Comment) bool { return strings.TrimSpace(string(c.Text)) == "METADATA" }
	if slices.ContainsFunc(module.Comments, isMetadata) {
		for _, c := range slices.Backward(module.Comments) {
			at := c.Location.Offset
			end := at + max(bytes.IndexByte(append(text[at:], '\n'), '\n'), 0)
			text = slices.Concat(text[:at], text[end:])
		}
	}
	_, body, _ := strings.Cut(string(text), "\n")
	return strings.TrimRight(body, " \t\n") + "\n"
}

// repeatable refuses references to data and functions whose answer may differ.
func (r *bodyReader) repeatable(module *ast.Module) bool {
	extension.RegoReferences(module, r.reference)
	return !r.failed
}

func (r *bodyReader) reference(ref ast.Ref, at *ast.Location) {
	head, ok := ref[0].Value.(ast.Var)
	if !ok {
		return
	}
	name, _ := syntax.Shorten(ref.String())
	switch {
	case head == "data":
		r.fail(at, diag.RegoBuiltin, "a rule's Rego reads input, and rules of its own", "%s is outside: other documents cannot be read", name)
	default:
		if reason, excluded := builtin.IsExcluded(name); excluded {
			hint := "docs/builtins.md lists the functions that may be called"
			if reason == builtin.Repeatable {
				hint = "fetch it by a rule of metadata, and read input.auth.metadata"
			}
			r.fail(at, diag.RegoBuiltin, hint, "%s is not available: %s", name, reason)
		}
	}
}

// compiles compiles a body by itself, as it will be: without its metadata some
// references are to nothing.
func (r *bodyReader) compiles(source string) bool {
	module, err := extension.ParseRego("", []byte(regoPackage+source), ast.ParserOptions{RegoVersion: ast.RegoV1})
	if err != nil {
		r.failAll(err)
		return false
	}
	at := r.d.At(r.key)
	found, _, err := rego.One(r.d.Rego, rego.Author{File: at.File, Line: at.Line, Column: at.Column}, []byte(source), func() (found mistakes) {
		if found.large = extension.LargeType(module); found.large != nil {
			return found
		}
		compiler := ast.NewCompiler().WithDefaultRegoVersion(ast.RegoV1)
		compiler.Compile(map[string]*ast.Module{"": module})
		found.errors = compiler.Errors
		return found
	})
	switch rule := found.large; {
	case err != nil:
		r.fail(nil, extension.RefusalCode(err), rego.RefusalHint, "the Rego %s", err)
	case rule != nil:
		r.fail(rule.Location, diag.Rego, extension.LargeTypeHint, "the type of a value in rule %s has more than %d parts", rule.Head.Name, extension.MaxType)
	case len(found.errors) > 0:
		r.failAll(found.errors)
	}
	return !r.failed
}

// mistakes are what the compiler finds in a body.
type mistakes struct {
	large  *ast.Rule // with a type that is too large; nil without one
	errors ast.Errors
}

// celCheck says what is wrong with an expression, by what it is for: that decides
// what it may name and what it must be.
type celCheck func(text string) *cel.Problem

// decodeCel checks an expression. Mistakes are reported at the key that holds it, with the
// place within the text in the message; the result is nil then.
func decodeCel(d *syntax.Decoder, key, n *syntax.Node, check celCheck) *syntax.Text {
	if n.Type != syntax.String {
		d.Fail(n, diag.WrongType, syntax.QuoteHint(n), "%s must be a string in CEL, not %s", key.Value, syntax.Describe(n))
		return nil
	}
	if problem := check(n.Value); problem != nil {
		d.Fail(key, diag.CEL, cel.Hint(problem), "%s, line %d, column %d: %s", key.Value, problem.Line, problem.Column, problem.Message)
		return nil
	}
	return &syntax.Text{Value: n.Value, At: d.At(key)}
}

// celOf is the text of an expression, empty where it has mistakes.
func celOf(t *syntax.Text) string {
	if t == nil {
		return ""
	}
	return t.Value
}

// celText is the shape of an expression over a request.
var celText = reader(func(d *syntax.Decoder, key, n *syntax.Node) { decodeCel(d, key, n, cel.CheckExpression) })
