package assertion

import (
	"encoding/json"
	"fmt"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// Family is assertions, which are decoded and proven, but not translated.
type Family struct{}

// Kinds returns the kinds of the family.
func (*Family) Kinds() syntax.Kinds { return Kinds }

// NewTable returns nil: the family has no table.
func (*Family) NewTable() tables.Table { return nil }

// Lower reports more assertions than a directory may have.
func (*Family) Lower(d *directory.Directory) (tables.Table, diag.List) {
	count := 0
	for _, doc := range directory.DocumentsOf[*Document](d) {
		if count += len(doc.Assertions); count > maxAssertions && count-len(doc.Assertions) <= maxAssertions {
			d.List.Add(diag.Diagnostic{Position: doc.At, Code: diag.TooLarge, Message: fmt.Sprintf("the directory has more than %d assertions", maxAssertions)})
		}
	}
	return nil, nil
}

// Emit returns nil.
func (*Family) Emit(tables.Table, emit.Options) map[string][]byte { return nil }

// Carried is a document as a built bundle carries it.
type Carried struct {
	File string `json:"file"`
	// Lines are line and column of the document, and then of each assertion.
	Lines    [][2]int        `json:"lines"`
	Document json.RawMessage `json:"document"`
}

// Carry returns the document as a bundle carries it.
func (d *Document) Carry() Carried {
	out := Carried{File: d.At.File, Document: d.text}
	add := func(at diag.Position) { out.Lines = append(out.Lines, [2]int{at.Line, at.Column}) }
	add(d.At)
	for i := range d.Assertions {
		add(d.Assertions[i].At)
	}
	return out
}

// Read returns the document, with the positions that it has in its file.
func (c *Carried) Read() (*Document, error) {
	decoded := Kinds.Decode("carried.json", c.Document, syntax.Options{})
	if decoded.List.HasErrors() || len(decoded.Documents) != 1 {
		return nil, fmt.Errorf("%s: not a document with assertions: %s", c.File, firstMessage(decoded.List))
	}
	doc, ok := decoded.Documents[0].(*Document)
	if !ok || len(c.Lines) != len(doc.Assertions)+1 {
		return nil, fmt.Errorf("%s: the positions are not those of the assertions", c.File)
	}
	at := func(i int) diag.Position {
		return diag.Position{File: c.File, Line: c.Lines[i][0], Column: c.Lines[i][1]}
	}
	doc.At = at(0)
	for i := range doc.Assertions {
		a := &doc.Assertions[i]
		a.At = at(i + 1)
		a.NameAt.At, a.Documents.At = a.At, a.At
	}
	return doc, nil
}

func firstMessage(list diag.List) string {
	if len(list) == 0 {
		return "it is of another kind"
	}
	return list[0].Message
}
