package diag

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf8"

	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/internal/jsontext"
)

// Lines is a report for people. What it holds are lines that the report itself began:
// names of documents in them can neither begin a line nor act on a terminal.
type Lines struct{ out strings.Builder }

// Addf adds one line. Line feeds of the text are escaped.
func (l *Lines) Addf(format string, args ...any) { l.add(Line(fmt.Sprintf(format, args...))) }

// AddTable adds rows with aligned cells.
func (l *Lines) AddTable(rows [][]string) {
	t := tabwriter.NewWriter(&l.out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		cells := elements.Map(row, Line)
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	_ = t.Flush() // into memory
}

// Len returns the length of the report in bytes.
func (l *Lines) Len() int { return l.out.Len() }

func (l *Lines) String() string { return l.out.String() }

func (l *Lines) add(line string) {
	l.out.WriteString(line)
	l.out.WriteByte('\n')
}

// Line returns text as one line that is safe to print: characters that move the cursor,
// begin a line, reverse the direction of text or are invisible are written as \uXXXX, and
// so is the first character of what a runner of pipelines takes for a command, such as
// "::stop-commands::" at the start or "##[group]" anywhere.
func Line(text string) string {
	var out strings.Builder
	if trimmed := strings.TrimLeft(text, " "); strings.HasPrefix(trimmed, "::") {
		out.WriteString(text[:len(text)-len(trimmed)] + `\u003a`)
		text = trimmed[1:]
	}
	for len(text) > 0 {
		cell, size := visible(text)
		out.WriteString(cell)
		text = text[size:]
	}
	return out.String()
}

// visible returns the first character of a text as it is shown, and its size.
func visible(text string) (shown string, size int) {
	r, size := utf8.DecodeRuneInString(text)
	switch {
	case r == utf8.RuneError && size <= 1:
		return "\ufffd", size
	case !unicode.IsPrint(r), r == '#' && (strings.HasPrefix(text, "##[") || strings.HasPrefix(text, "##vso[")):
		return string(jsontext.AppendEscape(nil, r)), size
	}
	return text[:size], size
}

// Wrap returns the lines of a text after what precedes it, each as long as the limit at most:
// further lines are further indented. A word that is longer than a line stays whole.
func Wrap(limit int, before, text string) []string {
	var out []string
	line := before
	for i, word := range strings.Split(text, " ") {
		switch {
		case i == 0:
			line += word
		case len(line)+1+len(word) <= limit:
			line += " " + word
		default:
			out = append(out, line)
			line = strings.Repeat(" ", len(before)+2) + word
		}
	}
	return append(out, line)
}

// Counted returns a number with its noun: "1 error", "2 errors", "3 classes".
func Counted(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "ss"):
		return fmt.Sprintf("%d %ses", n, noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
