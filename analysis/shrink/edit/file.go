package edit

import (
	"bytes"
	"cmp"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/writ-policy/writ/translator/syntax"
)

// File is the text of a file with its documents. It is immutable.
type File struct {
	Path  string
	Text  []byte
	Parts []syntax.Part

	bom    int   // length of a byte order mark
	lines  []int // offsets of the lines
	shared map[*syntax.Node]bool
	places map[position]*Place
}

type position struct{ line, column int }

// Place is where a document stands.
type Place struct {
	// Part is the index of its part of the file.
	Part int
	Node *syntax.Node
	// In is the list or the mapping that contains the document as its value Index, nil for a
	// document that is a part of its own.
	In    *syntax.Node
	Index int
	// Outer is the document that contains it, nil for none.
	Outer *Place
}

// Open reads the documents of a file.
func Open(name string, text []byte) (*File, error) {
	parts, err := syntax.Parts(name, text)
	if err != nil {
		return nil, err
	}
	f := &File{Path: name, Text: text, Parts: parts, shared: make(map[*syntax.Node]bool), places: make(map[position]*Place)}
	if bytes.HasPrefix(text, []byte("\ufeff")) {
		f.bom = len("\ufeff")
	}
	for at := f.bom; at <= len(text); {
		f.lines = append(f.lines, at)
		end := bytes.IndexAny(text[at:], "\r\n")
		if end < 0 {
			break
		}
		at += end + 1
		if text[at-1] == '\r' && at < len(text) && text[at] == '\n' {
			at++
		}
	}
	for i, p := range parts {
		if p.Root != nil {
			f.visit(p.Root, make(map[*syntax.Node]bool))
			f.addPlaces(&Place{Part: i, Node: p.Root})
		}
	}
	return f, nil
}

// visit marks the nodes that are met twice: an alias or a merge shares them.
func (f *File) visit(n *syntax.Node, met map[*syntax.Node]bool) {
	if met[n] {
		f.shared[n] = true
		return
	}
	met[n] = true
	for _, item := range n.Items {
		f.visit(item, met)
	}
	for _, field := range n.Fields {
		f.visit(field.Value, met)
	}
}

// IsShared reports whether a node, or one below it, stands in several places of its document.
func (f *File) IsShared(n *syntax.Node) bool {
	if f.shared[n] {
		return true
	}
	return slices.ContainsFunc(n.Items, f.IsShared) || slices.ContainsFunc(n.Fields, func(field syntax.Field) bool { return f.IsShared(field.Value) })
}

// IsAlias reports whether a node itself stands in several places.
func (f *File) IsAlias(n *syntax.Node) bool { return f.shared[n] }

// addPlaces notes a document and those that it contains: items of a List, and the contents
// of containers, which are mappings by name.
func (f *File) addPlaces(p *Place) {
	if p.Node.Type != syntax.Mapping {
		return
	}
	for _, field := range p.Node.Fields {
		switch {
		case syntax.Fold(field.Key.Value) == "kind":
			f.places[position{field.Key.Line, field.Key.Column}] = p
		case field.Key.Value == "items" && field.Value.Type == syntax.List:
			for i, item := range field.Value.Items {
				f.addPlaces(&Place{Part: p.Part, Node: item, In: field.Value, Index: i, Outer: p})
			}
		case (syntax.Fold(field.Key.Value) == "roles" || syntax.Fold(field.Key.Value) == "rolebindings") && field.Value.Type == syntax.Mapping:
			for i, inner := range field.Value.Fields {
				f.places[position{inner.Key.Line, inner.Key.Column}] = &Place{Part: p.Part, Node: inner.Value, In: field.Value, Index: i, Outer: p}
			}
		}
	}
}

// Place returns the document whose kind, or name in its container, has a position, or
// nil.
func (f *File) Place(line, column int) *Place { return f.places[position{line, column}] }

// offset returns the byte offset of a line and a column, which counts runes.
func (f *File) offset(line, column int) int {
	if line < 1 || line > len(f.lines) {
		return len(f.Text)
	}
	at := f.lines[line-1]
	for ; column > 1 && at < len(f.Text); column-- {
		_, size := utf8.DecodeRune(f.Text[at:])
		at += size
	}
	return at
}

// lineOf returns the index of the line of an offset.
func (f *File) lineOf(offset int) int {
	at, found := slices.BinarySearch(f.lines, offset)
	if !found {
		at--
	}
	return at
}

// lineEnd returns the offset of the line after the one with an index.
func (f *File) lineEnd(line int) int {
	if line+1 < len(f.lines) {
		return f.lines[line+1]
	}
	return len(f.Text)
}

// content returns a line without blanks around it and without its end.
func (f *File) content(line int) string {
	return strings.Trim(string(f.Text[f.lines[line]:f.lineEnd(line)]), " \t\r\n")
}

// newline returns the end of the lines of the file.
func (f *File) newline() string {
	at := bytes.IndexAny(f.Text, "\r\n")
	switch {
	case at < 0 || f.Text[at] == '\n':
		return "\n"
	case at+1 < len(f.Text) && f.Text[at+1] == '\n':
		return "\r\n"
	}
	return "\r"
}

// isJSON reports whether the text at an offset belongs to JSON, whose strings have quotes.
func (f *File) isJSON(n *syntax.Node) bool {
	if path.Ext(f.Path) == ".json" {
		return true
	}
	at := f.offset(n.Line, n.Column)
	for _, p := range f.Parts {
		if p.Start <= at && at < p.End && p.Root != nil {
			text := bytes.TrimLeft(bytes.TrimPrefix(f.Text[p.Start:p.End], []byte("---")), " \t\r\n")
			return bytes.HasPrefix(text, []byte("{")) && len(p.Root.Fields) > 0 && p.Root.Fields[0].Key.Quoted
		}
	}
	return false
}

// Cut is a change of a text: a range of bytes and what stands there instead.
type Cut struct {
	Start, End int
	Text       string
}

// Apply returns a range of the text with its changes. Ranges that overlap go together, with
// the replacement of the first one that has one.
func (f *File) Apply(start, end int, cuts []Cut) []byte {
	cuts = slices.Clone(cuts)
	slices.SortStableFunc(cuts, func(a, b Cut) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End)) })
	var out []byte
	at := start
	for _, c := range cuts {
		if c.Start > at {
			out = append(out, f.Text[at:c.Start]...)
		}
		out = append(out, c.Text...)
		at = max(at, c.End)
	}
	return append(out, f.Text[min(at, end):end]...)
}
