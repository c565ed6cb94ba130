package edit

import (
	"errors"
	"fmt"
	"strings"

	"github.com/writ-policy/writ/translator/syntax"
)

// ErrLayout is the error of a text that cannot be changed in place.
var ErrLayout = errors.New("the text cannot be changed in place")

func (f *File) layout(n *syntax.Node) error {
	return fmt.Errorf("%s:%d: %w", f.Path, n.Line, ErrLayout)
}

// start returns the offset of a node, and that of its value after an anchor or a tag.
func (f *File) start(n *syntax.Node) (start, value int) {
	start = f.offset(n.Line, n.Column)
	value = start
	for value < len(f.Text) && (f.Text[value] == '&' || f.Text[value] == '!') {
		for value < len(f.Text) && !strings.ContainsRune(" \t\r\n", rune(f.Text[value])) {
			value++
		}
		for value < len(f.Text) && strings.ContainsRune(" \t", rune(f.Text[value])) {
			value++
		}
	}
	return start, value
}

// isFlow reports whether a collection is written with brackets.
func (f *File) isFlow(n *syntax.Node) bool {
	_, at := f.start(n)
	return at < len(f.Text) && (n.Type == syntax.List && f.Text[at] == '[' || n.Type == syntax.Mapping && f.Text[at] == '{')
}

// end returns the offset after a scalar, or after a collection with brackets.
func (f *File) end(n *syntax.Node) (int, error) {
	_, at := f.start(n)
	switch {
	case f.isFlow(n):
		return f.closing(n, at)
	case n.Type == syntax.List || n.Type == syntax.Mapping:
		return 0, f.layout(n)
	case n.Quoted:
		return f.quoted(n, at)
	case !strings.HasPrefix(string(f.Text[at:min(len(f.Text), at+len(n.Value))]), n.Value):
		return 0, f.layout(n)
	}
	return at + len(n.Value), nil
}

// quoted returns the offset after the quoted text that begins at an offset.
func (f *File) quoted(n *syntax.Node, at int) (int, error) {
	if at >= len(f.Text) {
		return 0, f.layout(n)
	}
	quote := f.Text[at]
	for at++; at < len(f.Text); at++ {
		switch {
		case quote == '"' && f.Text[at] == '\\':
			at++
		case f.Text[at] != quote:
		case quote == '\'' && at+1 < len(f.Text) && f.Text[at+1] == quote:
			at++
		default:
			return at + 1, nil
		}
	}
	return 0, f.layout(n)
}

// closing returns the offset after the bracket that closes the one at an offset.
func (f *File) closing(n *syntax.Node, at int) (int, error) {
	depth, isStart := 0, true // isStart: a quote here begins a value
	for at < len(f.Text) {
		switch b := f.Text[at]; {
		case b == '[' || b == '{':
			depth++
			isStart = true
		case b == ']' || b == '}':
			if depth--; depth == 0 {
				return at + 1, nil
			}
			isStart = false
		case b == ',' || b == ':':
			isStart = true
		case b == '#' && strings.ContainsRune(" \t\r\n", rune(f.Text[at-1])):
			at = f.lineEnd(f.lineOf(at)) - 1
		case (b == '"' || b == '\'') && isStart:
			end, err := f.quoted(n, at)
			if err != nil {
				return 0, err
			}
			at, isStart = end-1, false
		case !strings.ContainsRune(" \t\r\n", rune(b)):
			isStart = false
		}
		at++
	}
	return 0, f.layout(n)
}

// rows are the lines of a value in a block: the first, and the last with something of it.
type rows struct{ first, last int }

// blockRows returns the lines of an item, or of a field, that begins at an offset. The line
// must have nothing before it.
func (f *File) blockRows(n *syntax.Node, at int) (rows, error) {
	line := f.lineOf(at)
	if strings.Trim(string(f.Text[f.lines[line]:at]), " ") != "" {
		return rows{}, f.layout(n)
	}
	indent, out := at-f.lines[line], rows{line, line}
	if end, err := f.end(n); err == nil { // brackets may close on a line that is not indented
		out.last = max(line, f.lineOf(end))
	}
	for next := out.last + 1; next < len(f.lines); next++ {
		text := string(f.Text[f.lines[next]:f.lineEnd(next)])
		bare := strings.TrimLeft(text, " ")
		content := strings.Trim(bare, "\t\r\n ")
		switch {
		case content == "":
			continue
		case content[0] == '#' && len(text)-len(bare) <= indent:
			continue
		case len(text)-len(bare) <= indent:
			return out, nil
		case content[0] != '#':
			out.last = next
		}
	}
	return out, nil
}

// dash returns the offset of the dash of an item of a list in a block.
func (f *File) dash(item *syntax.Node) (int, error) {
	at, _ := f.start(item)
	for at--; at >= 0 && f.Text[at] == ' '; at-- {
	}
	if at < 0 || f.Text[at] != '-' {
		return 0, f.layout(item)
	}
	return at, nil
}

// above returns the first of the comment lines directly above a line, or the line itself.
func (f *File) above(line, limit int) int {
	for line-1 >= limit && strings.HasPrefix(f.content(line-1), "#") {
		line--
	}
	return line
}

// whole returns the change that takes lines out, with the comment lines directly above.
func (f *File) whole(r rows, limit int) Cut {
	return Cut{Start: f.lines[f.above(r.first, limit)], End: f.lineEnd(r.last)}
}

// Item returns the text of an item of a list as it is written, empty if its end is not known.
func (f *File) Item(item *syntax.Node) string {
	if at, err := f.dash(item); err == nil {
		if r, err := f.blockRows(item, at); err == nil {
			return string(f.Text[f.lines[r.first]:f.lineEnd(r.last)])
		}
	}
	end, err := f.end(item)
	if err != nil {
		return ""
	}
	start, _ := f.start(item)
	return string(f.Text[start:end])
}
