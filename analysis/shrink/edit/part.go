package edit

import (
	"strings"

	"github.com/writ-policy/writ/translator/syntax"
)

// IsEmpty reports whether nothing is left of the documents of the file without some parts.
func (f *File) IsEmpty(gone map[int]bool) bool {
	for i, p := range f.Parts {
		if p.Root != nil && !gone[i] {
			return false
		}
	}
	return true
}

// DropPart returns the change that takes a document out with its marker, and with the comment
// lines directly above it. Other comments stay.
func (f *File) DropPart(index int) Cut {
	p := f.Parts[index]
	whole := Cut{Start: p.Start, End: p.End}
	from, to := f.lineOf(p.Start), f.lineOf(max(p.Start, p.End-1))
	if f.lines[from] != p.Start || f.lineEnd(to) != p.End {
		return whole // several objects on one line
	}
	first, last, hasMarker := -1, -1, strings.HasPrefix(string(f.Text[p.Start:p.End]), "---")
	for line := from; line <= to; line++ {
		content := f.content(line)
		if line == from && hasMarker {
			content = strings.TrimLeft(content[3:], " \t")
		}
		if content == "" || content[0] == '#' {
			continue
		}
		if first < 0 {
			first = line
		}
		last = line
	}
	if first < 0 {
		return whole
	}
	limit := from
	if hasMarker {
		limit++
	}
	above := first
	if first >= limit {
		above = f.above(first, limit)
	}
	for line := limit; line <= to; line++ {
		if (line < above || line > last) && f.content(line) != "" {
			return Cut{Start: f.lines[above], End: f.lineEnd(last)}
		}
	}
	return whole
}

// CopyPart returns the text of a document with changes, as a document after it.
func (f *File) CopyPart(index int, cuts []Cut) Cut {
	p := f.Parts[index]
	text := string(f.Apply(p.Start, p.End, cuts))
	if !strings.HasPrefix(text, "---") && !strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{") {
		text = "---" + f.newline() + text
	}
	lead := ""
	if p.End > 0 && f.Text[p.End-1] != '\n' && f.Text[p.End-1] != '\r' {
		lead = f.newline()
	}
	return Cut{p.End, p.End, lead + text}
}

// CopyItem returns the item of a list, or the field of a mapping, with changes as the element
// after it.
func (f *File) CopyItem(in *syntax.Node, index int, changes [][]Cut) (Cut, error) {
	if f.isFlow(in) {
		list, err := f.elements(in)
		if err != nil {
			return Cut{}, err
		}
		e := list[index]
		text := ""
		for _, cuts := range changes {
			text += f.separator(list, index) + string(f.Apply(e.start, e.end, cuts))
		}
		return Cut{e.end, e.end, text}, nil
	}
	at, value := 0, (*syntax.Node)(nil)
	if in.Type == syntax.List {
		value = in.Items[index]
		var err error
		if at, err = f.dash(value); err != nil {
			return Cut{}, err
		}
	} else {
		value = in.Fields[index].Value
		at, _ = f.start(in.Fields[index].Key)
	}
	r, err := f.blockRows(value, at)
	if err != nil {
		return Cut{}, err
	}
	text := ""
	for _, cuts := range changes {
		one := string(f.Apply(f.lines[r.first], f.lineEnd(r.last), cuts))
		if !strings.HasSuffix(one, "\n") && !strings.HasSuffix(one, "\r") {
			one += f.newline()
		}
		text += one
	}
	return f.insertLines(r.last, text), nil
}

// Replace returns the change of a text to another one, in its quotes.
func (f *File) Replace(n *syntax.Node, value string) (Cut, error) {
	end, err := f.end(n)
	if err != nil || f.shared[n] {
		return Cut{}, f.layout(n)
	}
	_, start := f.start(n)
	if n.Quoted {
		quote := f.Text[start : start+1]
		value = string(quote) + value + string(quote)
	}
	return Cut{start, end, value}, nil
}
