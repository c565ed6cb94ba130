package syntax

import (
	"slices"

	"github.com/writ-policy/writ/translator/diag"
)

// flaw is a mistake that does not prevent parsing, such as a repeated key.
type flaw struct {
	in *Node // the mapping or value that has it
	// repeated is the entry of a repeated key that was left out, zero for another flaw.
	repeated Field
	syntaxError
}

// flaws collects the flaws of a document.
type flaws []flaw

func (f *flaws) add(in *Node, e syntaxError) { *f = append(*f, flaw{in: in, syntaxError: e}) }

// addRepeated adds an entry of a mapping whose key it has before.
func (f *flaws) addRepeated(in *Node, again Field, first *Node) {
	*f = append(*f, flaw{in: in, repeated: again, syntaxError: duplicateKey(again.Key, first)})
}

// reportFlaws reports the flaws in a document of a family, except below the key without.
// Flaws of other documents are not reported.
func (d *Decoder) reportFlaws(n *Node, without string) {
	if len(d.flaws) == 0 {
		return
	}
	nodes := make(map[*Node]bool)
	n.visit(without, nodes)
	d.flaws = slices.DeleteFunc(d.flaws, func(f flaw) bool {
		switch {
		case nodes[f.in] && d.fields != nil:
			d.Add(d.objectDiagnostic(f.syntaxError))
		case nodes[f.in]:
			d.Add(syntaxDiagnostic(d.file, f.syntaxError))
		}
		return nodes[f.in]
	})
}

// visit adds n and the nodes below it, except those below the key without.
func (n *Node) visit(without string, nodes map[*Node]bool) {
	if nodes[n] {
		return // reached by an alias
	}
	nodes[n] = true
	for _, item := range n.Items {
		item.visit("", nodes)
	}
	for _, f := range n.Fields {
		nodes[f.Key] = true
		if without == "" || f.Key.Value != without {
			f.Value.visit("", nodes)
		}
	}
}

// notPolicy is the hint for a file that is not valid YAML.
const notPolicy = "list the file in .writignore if it is not policy; of a template check what it makes, as in helm template CHART | writ check -"

func joinHints(hint, more string) string {
	if hint == "" {
		return more
	}
	return hint + "; " + more
}

// brokenFile returns the result for a file that cannot be split into documents.
func brokenFile(file string, e syntaxError) File {
	d := syntaxDiagnostic(file, e)
	return File{Undecoded: []Undecoded{{At: d.Position}}, List: diag.List{d}}
}

func syntaxDiagnostic(file string, e syntaxError) diag.Diagnostic {
	return diag.Diagnostic{
		Position: diag.Position{File: file, Line: e.Line, Column: e.Column},
		Code:     diag.YAML, Message: e.Message, Hint: e.Hint,
	}
}

// syntaxError describes why a text is not valid YAML or JSON, and where. Line 0 means the
// first line.
type syntaxError struct {
	Line, Column int
	Message      string
	Hint         string
}
