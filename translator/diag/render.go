package diag

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// TextOptions control how diagnostics are written for people. The zero value
// writes all of them, without excerpts and without colour.
type TextOptions struct {
	// Source returns the text of files, for excerpts. Nil means no excerpts.
	Source Source
	// Color writes escape sequences of terminals.
	Color bool
	// Most is how many diagnostics are written. The remaining ones are counted on
	// a last line. Zero writes all.
	Most int
}

// WriteText writes diagnostics for people, sorted: the position and the message,
// the line of the source with a mark under the value, related places and the
// hint. It returns an error only if w does.
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

// Tally formats counts: "2 errors, 1 warning".
func Tally(errors, warnings int) string {
	return countOf(errors, "error") + ", " + countOf(warnings, "warning")
}

func countOf(n int, noun string) string {
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

// paint wraps text in a colour. The text must be safe to print (singleLine).
func (t *textWriter) paint(color, text string) string {
	if !t.color {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

// maxListed is how many places and subjects of a diagnostic a text lists.
const maxListed = 5

func (t *textWriter) diagnostic(d Diagnostic) {
	color := red
	if d.Severity == Warning {
		color = yellow
	}
	label := t.paint(color, d.Severity.String()+"["+singleLine(string(d.Code))+"]")
	if at := singleLine(d.Position.String()); at != "" {
		fmt.Fprintf(t.out, "%s: ", t.paint(bold, at))
	}
	fmt.Fprintf(t.out, "%s: %s\n", label, singleLine(d.Message))
	gutter := 5
	if line, found := t.lines.line(d.File, d.Line); found && d.Field == "" {
		gutter = t.excerpt(d, line, color)
	}
	for _, r := range d.Related[:min(len(d.Related), maxListed)] {
		t.note(gutter, "see "+singleLine(r.Position.String())+": "+singleLine(r.Message))
	}
	if more := len(d.Related) - maxListed; more > 0 {
		t.note(gutter, fmt.Sprintf("see %s: -o json lists them", Counted(more, "more place")))
	}
	if more := len(d.Subjects) - maxListed; more > 0 {
		t.note(gutter, fmt.Sprintf("-o json lists all %s", Counted(len(d.Subjects), "subject")))
	}
	if d.Hint != "" {
		t.note(gutter, "hint: "+singleLine(d.Hint))
	}
}

// excerpt writes the line with a mark under the value. It returns the width of
// the line number.
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
