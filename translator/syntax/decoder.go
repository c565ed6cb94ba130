package syntax

import (
	"fmt"

	"github.com/writ-policy/writ/translator/diag"
)

// Decoder decodes the documents of one part of a file.
type Decoder struct {
	file  string
	kinds Kinds
	Options
	// fields are the paths of the nodes of an object of a cluster, nil in a file.
	fields fieldPaths
	Diags  diag.List
	Out    []Document
	// Skipped are the foreign documents.
	Skipped   []Skipped
	undecoded []Undecoded
	// flaws are those of the text that are not reported.
	flaws flaws
	first int // among Diags, of the document that is decoded
	// dropped counts the diagnostics beyond maxDiagnostics.
	dropped      int
	droppedError bool
	// DeferredWarnings are warnings that are reported only for a policy without mistakes.
	DeferredWarnings diag.List
	// failed counts the errors, those included that tolerant makes warnings.
	failed   int
	tolerant bool
}

// OfDocument returns the diagnostics of the document that is decoded, those of the parser included.
func (d *Decoder) OfDocument() diag.List { return d.Diags[d.first:] }

// At returns the position of n in its file.
func (d *Decoder) At(n *Node) diag.Position {
	if d.Bootstrap {
		// The column keeps the order of documents.
		return diag.Position{File: d.file, Column: n.Line*maxBootstrapColumns + n.Column}
	}
	return diag.Position{File: d.file, Line: n.Line, Column: n.Column, Field: d.fields.of(n)}
}

// Fail reports an error at n and Warn a warning. The message says what is wrong,
// with the value; the hint what to type, or nothing.
func (d *Decoder) Fail(n *Node, code diag.Code, hint, format string, args ...any) {
	d.report(n, diag.Error, code, hint, format, args...)
}

// Warn reports a warning at n.
func (d *Decoder) Warn(n *Node, code diag.Code, hint, format string, args ...any) {
	d.report(n, diag.Warning, code, hint, format, args...)
}

func (d *Decoder) report(n *Node, s diag.Severity, code diag.Code, hint, format string, args ...any) {
	d.Observer.report(n, code)
	d.Add(diag.Diagnostic{
		Position: d.At(n), Length: n.Length(), Severity: s, Code: code,
		Message: fmt.Sprintf(format, args...), Hint: hint,
	})
}

// Add keeps a diagnostic, or counts it where there are too many.
func (d *Decoder) Add(g diag.Diagnostic) {
	if g.Severity == diag.Error {
		d.failed++
		if d.tolerant {
			g.Severity = diag.Warning
		}
	}
	if len(d.Diags) < maxDiagnostics {
		d.Diags.Add(g)
		return
	}
	d.dropped++
	d.droppedError = d.droppedError || g.Severity == diag.Error
}

// Tolerate calls a function that decodes a document and reports whether the document has
// errors. In an export of a cluster they become warnings: a controller that adds a field
// must not stop every reload. The caller then gives the document no effect.
func (d *Decoder) Tolerate(decode func()) (wrong bool) {
	before := d.failed
	d.tolerant = d.ClusterExport
	decode()
	d.tolerant = false
	return d.failed > before
}

// Reported returns how many diagnostics there are, those included that are not shown.
func (d *Decoder) Reported() int { return len(d.Diags) + d.dropped }

// Text returns the value of n with its position, the zero value for nil.
func (d *Decoder) Text(n *Node) Text {
	if n == nil {
		return Text{}
	}
	return Text{Value: n.Value, At: d.At(n)}
}

// noteDropped reports how many diagnostics were left out.
func (d *Decoder) noteDropped(root *Node) {
	if d.dropped == 0 {
		return
	}
	severity := diag.Warning
	if d.droppedError {
		severity = diag.Error
	}
	d.Diags.Add(diag.Diagnostic{
		Position: d.At(root), Severity: severity, Code: diag.TooManyMistakes,
		Message: fmt.Sprintf("%d further mistakes in this document are not shown", d.dropped),
	})
}
