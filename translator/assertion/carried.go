package assertion

import (
	"encoding/json"
	"fmt"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
)

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
