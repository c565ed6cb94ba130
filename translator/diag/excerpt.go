package diag

import (
	"strings"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

const (
	// excerptWidth is how many columns of a line are shown.
	excerptWidth = 120
	// excerptLead is how many runes before the mark are shown if the line is longer.
	excerptLead = 60
	// excerptAhead is how many bytes decide how a character is shown.
	excerptAhead = len("##vso[")
	tabWidth     = 4
	ellipsis     = "…"
)

// widths measures runes the same way on every machine. The package's default
// depends on the environment.
var widths = &runewidth.Condition{StrictEmojiNeutral: true}

// excerpt prepares a line, or the part of it around a column (from 1, in runes),
// for a terminal. It returns the text and the start and width of the mark, both
// in columns of the terminal. Width 0 means no mark. Length 0 counts as 1.
func excerpt(line []byte, column, length int) (text string, from, width int) {
	var out strings.Builder
	rest, index := mask(line), 1 // index is the number of the next rune, from 1
	if column > excerptLead && utf8.RuneCount(line) > excerptWidth {
		for ; index < column-excerptLead; index++ {
			_, size := utf8.DecodeRune(rest)
			if size == 0 {
				break
			}
			rest = rest[size:]
		}
		out.WriteString(ellipsis)
	}
	at, marked := cellWidth(out.String()), false
	for ; len(rest) > 0; index++ {
		if at >= excerptWidth {
			out.WriteString(ellipsis)
			break
		}
		if index == column {
			from, marked = at, true
		}
		cell, size := strings.Repeat(" ", tabWidth), 1
		if rest[0] != '\t' {
			cell, size = visible(string(rest[:min(len(rest), excerptAhead)]))
		}
		out.WriteString(cell)
		at += cellWidth(cell)
		rest = rest[size:]
		if marked && index < column+max(length, 1) {
			width = at - from
		}
	}
	if !marked && index == column {
		from, width = at, 1 // after the end of the line
	}
	if marked {
		width = max(width, 1)
	}
	return out.String(), from, width
}

func cellWidth(cell string) int {
	width := 0
	for _, r := range cell {
		width += widths.RuneWidth(r)
	}
	return width
}

// singleLine makes text from documents one line: blanks stay blanks, and the rest is as in Line.
func singleLine(text string) string { return Line(blanks.Replace(text)) }

var blanks = strings.NewReplacer("\n", " ", "\t", " ")
