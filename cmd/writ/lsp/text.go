package lsp

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/editor"
)

// lines are the lines of a text, without their ends.
type lines []string

func linesOf(text string) (l lines) {
	for {
		line, size, hasEnd := firstLine(text)
		if l = append(l, line); !hasEnd {
			return l
		}
		text = text[size:]
	}
}

// firstLine returns the first line of a text, and its size with its end, which the last line does not
// have. Lines end in LF, CR LF or CR, as in the protocol and in the positions of diagnostics.
func firstLine(text string) (line string, size int, hasEnd bool) {
	at := strings.IndexAny(text, "\r\n")
	switch {
	case at < 0:
		return text, len(text), false
	case strings.HasPrefix(text[at:], "\r\n"):
		return text[:at], at + 2, true
	}
	return text[:at], at + 1, true
}

// texts are the files of an analysis in lines. A file is split once, however many places of it one
// answer has.
type texts struct {
	of     *editor.Analysis
	byFile map[string]lines
}

func textsOf(a *editor.Analysis) *texts { return &texts{a, make(map[string]lines)} }

// lines returns the lines of a file, nil if the directory does not have it.
func (t *texts) lines(file string) lines {
	split, isKnown := t.byFile[file]
	if content := t.of.Content(file); !isKnown && content != nil {
		split = linesOf(string(content))
		t.byFile[file] = split
	}
	return split
}

func (l lines) at(line int) string {
	if line < 0 || line >= len(l) {
		return ""
	}
	return l[line]
}

// position converts a position of a diagnostic, in runes, to one of the protocol, in UTF-16.
func (l lines) position(p diag.Position) position {
	line := max(p.Line-1, 0)
	return position{Line: line, Character: units(l.at(line), max(p.Column-1, 0))}
}

// span returns the part of a line from a position, so many runes long.
func (l lines) span(p diag.Position, length int) span {
	end := p
	end.Column = max(p.Column, 1) + max(length, 1)
	return span{Start: l.position(p), End: l.position(end)}
}

// runes converts a position of the protocol to the number of runes before it in its line.
func (l lines) runes(p position) int {
	count, left := 0, p.Character
	for _, r := range l.at(p.Line) {
		if left -= utf16.RuneLen(r); left < 0 {
			break
		}
		count++
	}
	return count
}

// units returns the length of the first runes of a text in UTF-16.
func units(text string, count int) (length int) {
	for _, r := range text {
		if count == 0 {
			break
		}
		count--
		length += max(utf16.RuneLen(r), 1)
	}
	return length
}

// replace returns a text with a part replaced; without a part, the whole is replaced. A
// position beyond the end of a line or of the text is its end.
func replace(text string, change contentChange) string {
	if change.Range == nil {
		return change.Text
	}
	from, to := offset(text, change.Range.Start), offset(text, change.Range.End)
	return text[:from] + change.Text + text[max(from, to):]
}

// offset converts a position of the protocol to bytes.
func offset(text string, p position) int {
	at := 0
	for range p.Line {
		_, size, hasEnd := firstLine(text[at:])
		if !hasEnd {
			return len(text)
		}
		at += size
	}
	line, _, _ := firstLine(text[at:])
	left := p.Character
	for len(line) > 0 && left > 0 {
		r, size := utf8.DecodeRuneInString(line)
		if left -= max(utf16.RuneLen(r), 1); left < 0 {
			break
		}
		at, line = at+size, line[size:]
	}
	return at
}
