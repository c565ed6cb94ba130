package syntax

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// part is the text of one document of a file.
type part struct {
	content []byte
	// line is the line of the file on which content begins, from 1, and before the number of
	// columns of that line before it.
	line, before int
	// isJSON states that content follows a JSON object, so that it can only be another one.
	isJSON bool
	// parsed is what parseTogether has made of the part, nil for a part that is still to be parsed.
	parsed *yaml.Node
}

// split cuts a file at its document markers ("---" and "..." at the start of a
// line). Parts that hold nothing but blanks, comments and directives are left out.
func split(content []byte) ([]part, *syntaxError) {
	var parts []part
	start, startLine, line := 0, 1, 1
	empty := true // nothing but blanks, comments and directives since start
	cut := func(end int) {
		if !empty {
			parts = append(parts, part{content: content[start:end], line: startLine})
		}
		start, startLine, empty = end, line, true
	}
	for at := 0; at < len(content); line++ {
		end, next := lineEnd(content, at)
		text := content[at:end]
		switch {
		case isMarker(text, "---"):
			cut(at)
			empty = isBlank(text[3:])
		case isMarker(text, "..."):
			cut(at)
			start, startLine = next, line+1
			if !isBlank(text[3:]) {
				return nil, &syntaxError{Line: line, Column: 5, Message: `text after the end marker "..."`, Hint: "begin the next document on a line of its own"}
			}
		case empty && len(text) > 0 && text[0] == '%':
			if err := directive(text, line); err != nil {
				return nil, err
			}
			start, startLine = next, line+1
		case empty:
			empty = isBlank(text)
		}
		at = next
	}
	cut(len(content))
	return parts, nil
}

// lineEnd returns the end of the line that begins at start and the beginning of
// the next. Lines end in LF, CR LF or CR.
func lineEnd(content []byte, start int) (end, next int) {
	length := bytes.IndexAny(content[start:], "\r\n")
	if length < 0 {
		return len(content), len(content)
	}
	end, next = start+length, start+length+1
	if content[end] == '\r' && next < len(content) && content[next] == '\n' {
		next++
	}
	return end, next
}

// isMarker reports whether a line is the marker, alone or before a blank.
func isMarker(line []byte, marker string) bool {
	if len(line) < 3 || string(line[:3]) != marker {
		return false
	}
	return len(line) == 3 || line[3] == ' ' || line[3] == '\t'
}

// isBlank reports whether a line holds nothing but blanks and a comment.
func isBlank(line []byte) bool {
	line = bytes.TrimLeft(line, " \t")
	return len(line) == 0 || line[0] == '#'
}

// directive checks a line that begins with "%". A version other than 1 would
// change how everything after it reads.
func directive(line []byte, number int) *syntaxError {
	words := bytes.Fields(line)
	switch {
	case string(words[0]) == "%YAML" && len(words) >= 2 && bytes.HasPrefix(words[1], []byte("1.")):
		return nil
	case string(words[0]) == "%TAG":
		return nil // a tag that it declares is rejected where it is used
	}
	return &syntaxError{Line: number, Column: 1, Message: "directive " + Quote(string(words[0])) + " is not known", Hint: "leave the line out"}
}

// Readable returns content without a leading byte order mark. It returns an error for
// bytes that are not UTF-8, control characters and invisible marks, which readers
// interpret differently.
func Readable(content []byte) ([]byte, *syntaxError) {
	content = bytes.TrimPrefix(content, []byte("\ufeff"))
	for at := 0; at < len(content); {
		b := content[at]
		if b < utf8.RuneSelf {
			if b >= ' ' && b != 0x7f || b == '\n' || b == '\t' || b == '\r' {
				at++
				continue
			}
			return nil, unreadable(content, at, fmt.Sprintf("control character U+%04X in the text", b), "")
		}
		r, size := utf8.DecodeRune(content[at:])
		switch {
		case r == utf8.RuneError && size == 1:
			return nil, unreadable(content, at, fmt.Sprintf("byte 0x%02X is not UTF-8", b), "save the file as UTF-8")
		case r >= 0x80 && r <= 0x9f:
			return nil, unreadable(content, at, fmt.Sprintf("control character U+%04X in the text", r), `write it as an escape in double quotes`)
		case r == 0x2028 || r == 0x2029:
			return nil, unreadable(content, at, "line separator U+202"+string('8'+r-0x2028)+" in the text", `write it as an escape in double quotes`)
		case r == 0xfeff:
			return nil, unreadable(content, at, "byte order mark U+FEFF inside the text", "take it out")
		}
		at += size
	}
	return content, nil
}

// unreadable returns an error at a byte offset.
func unreadable(content []byte, offset int, message, hint string) *syntaxError {
	line, column := position(content, offset)
	return &syntaxError{Line: line, Column: column, Message: message, Hint: hint}
}

// position returns the line and the column, in runes, of a byte offset.
func position(content []byte, offset int) (line, column int) {
	line = 1
	at := 0
	for {
		end, next := lineEnd(content, at)
		if offset < next || next >= len(content) {
			return line, 1 + utf8.RuneCount(content[at:min(offset, end)])
		}
		at = next
		line++
	}
}

// Part is a document of a file, as text and as nodes.
type Part struct {
	// Start and End are the byte offsets of the document in the file, its document marker
	// included.
	Start, End int
	// Root is nil for a document without a value.
	Root *Node
}

// Parts returns the documents of a file in their order, for what changes its text: lines and
// columns of nodes are those of the file. It returns an error for a file that Decode rejects.
func Parts(file string, content []byte) ([]Part, error) {
	clean, err := Readable(content)
	if err != nil {
		return nil, fmt.Errorf("%s:%d:%d: %s", file, err.Line, err.Column, err.Message)
	}
	parts, err := split(clean)
	if err != nil {
		return nil, fmt.Errorf("%s:%d:%d: %s", file, err.Line, err.Column, err.Message)
	}
	parts = cutObjects(file, parts)
	out := make([]Part, 0, len(parts))
	for _, p := range parts {
		var found flaws
		root, err := parse(file, p, &found)
		if err != nil {
			return nil, fmt.Errorf("%s:%d:%d: %s", file, err.Line, err.Column, err.Message)
		}
		// Parts share the bytes of the file up to its end, so that capacities show where.
		start := len(content) - len(clean) + cap(clean) - cap(p.content)
		out = append(out, Part{start, start + len(p.content), root})
	}
	return out, nil
}
