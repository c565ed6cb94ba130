package diag

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// TextOptions say how diagnostics are written for people. The zero value writes
// all of them, without excerpts and without colour.
type TextOptions struct {
	Source Source
	Color  bool
	// Most is how many diagnostics are written; the others are counted. Zero
	// writes all.
	Most int
}

// WriteText writes diagnostics for people, sorted: a line that says what is
// wrong and where, the line of the source with a mark under the place, what else
// to look at and what to type.
func WriteText(w io.Writer, list List, o TextOptions) error {
	t := &textWriter{out: bufio.NewWriter(w), lines: newLines(o.Source), color: o.Color}
	sorted := list.Sorted()
	shown := sorted
	if o.Most > 0 && len(sorted) > o.Most {
		shown = sorted[:o.Most]
	}
	for _, d := range shown {
		t.diagnostic(d)
	}
	if rest := sorted[len(shown):]; len(rest) > 0 {
		errors, warnings := rest.Count()
		fmt.Fprintf(t.out, "... and %d more: %s\n", len(rest), Tally(errors, warnings))
	}
	return t.out.Flush()
}

// Count returns how many errors and how many warnings a list has.
func (l List) Count() (errors, warnings int) {
	for _, d := range l {
		if d.Severity == Error {
			errors++
		}
	}
	return errors, len(l) - errors
}

// Tally is a count in words: "2 errors, 1 warning".
func Tally(errors, warnings int) string {
	return number(errors, "error") + ", " + number(warnings, "warning")
}

func number(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

type textWriter struct {
	out   *bufio.Writer
	lines *lines
	color bool
}

// Colours of a terminal.
const (
	bold   = "1"
	red    = "1;31"
	yellow = "1;33"
	blue   = "34"
)

// paint wraps text in a colour. The text must be harmless already.
func (t *textWriter) paint(color, text string) string {
	if !t.color {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

func (t *textWriter) diagnostic(d Diagnostic) {
	color := red
	if d.Severity == Warning {
		color = yellow
	}
	label := t.paint(color, d.Severity.String()+"["+harmless(string(d.Code))+"]")
	if at := place(d.Position); at != "" {
		fmt.Fprintf(t.out, "%s: ", t.paint(bold, at))
	}
	fmt.Fprintf(t.out, "%s: %s\n", label, harmless(d.Message))
	gutter := 5
	if line, found := t.lines.line(d.File, d.Line); found {
		gutter = t.excerpt(d, line, color)
	}
	for _, r := range d.Related {
		t.note(gutter, "see "+place(r.Position)+": "+harmless(r.Message))
	}
	if d.Hint != "" {
		t.note(gutter, "hint: "+harmless(d.Hint))
	}
}

// excerpt writes the line with a mark under the place, and returns how wide line
// numbers are.
func (t *textWriter) excerpt(d Diagnostic, line []byte, color string) int {
	number := fmt.Sprintf("%5d", d.Line)
	text, from, width := excerpt(line, d.Column, d.Length)
	fmt.Fprintf(t.out, "%s %s\n", t.paint(blue, number+" |"), text)
	if width > 0 {
		mark := t.paint(color, strings.Repeat("^", width))
		fmt.Fprintf(t.out, "%s %s%s\n", t.paint(blue, strings.Repeat(" ", len(number))+" |"), strings.Repeat(" ", from), mark)
	}
	return len(number)
}

func (t *textWriter) note(gutter int, text string) {
	fmt.Fprintf(t.out, "%s%s\n", strings.Repeat(" ", gutter+1), t.paint(blue, "= ")+text)
}

// place writes a position, as much of it as is known.
func place(p Position) string {
	switch {
	case p.File == "":
		return ""
	case p.Line == 0:
		return harmless(p.File)
	case p.Column == 0:
		return fmt.Sprintf("%s:%d", harmless(p.File), p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", harmless(p.File), p.Line, p.Column)
}
