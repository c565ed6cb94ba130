package syntax

import "github.com/writ-policy/writ/translator/diag"

// flaw is a mistake that does not prevent parsing, such as a repeated key.
type flaw struct {
	// repeated is the entry of a repeated key that was left out, zero for another flaw.
	repeated Field
	syntaxError
}

// flaws collects the flaws of a text by the mapping or value that has them. The zero value has none.
type flaws struct{ by map[*Node][]flaw }

func (f *flaws) add(in *Node, e syntaxError) { f.addFlaw(in, flaw{syntaxError: e}) }

// addRepeated adds an entry of a mapping whose key it has before.
func (f *flaws) addRepeated(in *Node, again Field, first *Node) {
	f.addFlaw(in, flaw{repeated: again, syntaxError: duplicateKey(again.Key, first)})
}

func (f *flaws) addFlaw(in *Node, found flaw) {
	if f.by == nil {
		f.by = make(map[*Node][]flaw)
	}
	f.by[in] = append(f.by[in], found)
}

// reportFlaws reports the flaws in a document of a family, except below the key without.
// Flaws of other documents are not reported.
func (d *Decoder) reportFlaws(n *Node, without string) {
	if len(d.flaws.by) > 0 {
		d.reportBelow(n, without, make(map[*Node]bool))
	}
}

// reportBelow reports the flaws of n and of the nodes below it, except those below the key without.
func (d *Decoder) reportBelow(n *Node, without string, seen map[*Node]bool) {
	if seen[n] {
		return // reached by an alias
	}
	seen[n] = true
	d.reportNode(n)
	for _, item := range n.Items {
		d.reportBelow(item, "", seen)
	}
	for _, f := range n.Fields {
		d.reportNode(f.Key)
		if without == "" || f.Key.Value != without {
			d.reportBelow(f.Value, "", seen)
		}
	}
}

// reportNode reports the flaws of one node, once.
func (d *Decoder) reportNode(n *Node) {
	for _, f := range d.flaws.by[n] {
		if d.fields != nil {
			d.Add(d.objectDiagnostic(f.syntaxError))
		} else {
			d.Add(syntaxDiagnostic(d.file, f.syntaxError))
		}
	}
	delete(d.flaws.by, n)
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
