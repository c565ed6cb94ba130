package diag

import (
	"bytes"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

// Source returns the text of a file of the directory. It returns nil if the text
// is not available; the diagnostic is then written without an excerpt.
type Source func(file string) []byte

// lines returns single lines of the files that have diagnostics. Each file is
// split once.
type lines struct {
	source Source
	files  map[string][][2]int
	text   map[string][]byte
}

func newLines(source Source) *lines {
	return &lines{source: source, files: map[string][][2]int{}, text: map[string][]byte{}}
}

// line returns a line without its line ending, or false if the file has no such line.
func (l *lines) line(file string, number int) ([]byte, bool) {
	if l.source == nil || file == "" || number < 1 {
		return nil, false
	}
	bounds, read := l.files[file]
	if !read {
		text := bytes.TrimPrefix(l.source(file), []byte("\ufeff"))
		bounds = lineBounds(text)
		l.files[file], l.text[file] = bounds, text
	}
	if number > len(bounds) {
		return nil, false
	}
	b := bounds[number-1]
	return l.text[file][b[0]:b[1]], true
}

// lineBounds returns the start and end of each line. Lines end in LF, CR LF or CR,
// as in the decoder.
func lineBounds(text []byte) [][2]int {
	var bounds [][2]int
	start := 0
	for i := 0; i < len(text); i++ {
		if text[i] != '\n' && text[i] != '\r' {
			continue
		}
		bounds = append(bounds, [2]int{start, i})
		if text[i] == '\r' && i+1 < len(text) && text[i+1] == '\n' {
			i++
		}
		start = i + 1
	}
	if start < len(text) {
		bounds = append(bounds, [2]int{start, len(text)})
	}
	return bounds
}

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

// secrets are the parts of a line of YAML or JSON that may be secrets, each as the first
// group: user information in a URL, the credentials of an authentication scheme, and the
// value of a key that is named for a secret.
var secrets = []*regexp.Regexp{
	regexp.MustCompile(`://([^/?#@\s]+)@`),
	regexp.MustCompile(`(?i)\b(?:bearer|basic)\s+([^\s"',}\]]+)`),
	regexp.MustCompile(`(?i)(?:authorization|cookie|secret|password|passwd|token|api-?key)["']?\s*:\s*(?:\{[^{}]*?value["']?\s*:\s*)?` +
		`("(?:[^"\\]|\\.)*"|'[^']*'|[^\s"',{}\[\]#][^,{}\[\]#]*)`),
}

// mask returns the line with an asterisk for each character of what may be a secret.
// Excerpts are shown in logs of builds, to readers that the document is not for.
func mask(line []byte) []byte {
	for _, pattern := range secrets {
		var out []byte
		kept := 0
		for _, at := range pattern.FindAllSubmatchIndex(line, -1) {
			out = append(out, line[kept:at[2]]...)
			for range utf8.RuneCount(line[at[2]:at[3]]) {
				out = append(out, '*')
			}
			kept = at[3]
		}
		line = append(out, line[kept:]...)
	}
	return line
}
