package page

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/writ-policy/writ/server/console"
)

// source is a part of a file.
type source struct {
	Title, Href string
	Region      string
	Lines       []codeLine
}

// codeLine is one line of a source.
type codeLine struct {
	Number int
	ID     string
	Href   string
	Class  string
	// Current marks the first line of a rule.
	Current bool
	Parts   []part
	// Gutter says how often the rule on this line decided.
	Gutter string
	Never  bool
	// Holders leads to who holds the role that begins on this line, or that the binding there
	// grants.
	Holders     tab
	Diagnostics []diagnostic
}

// elements is how many elements the template has for the line.
func (l *codeLine) elements() int {
	n := 5 + 5*len(l.Diagnostics)
	if l.Holders.Href != "" {
		n += 2
	}
	for _, p := range l.Parts {
		if p.Class != "" {
			n++
		}
	}
	return n
}

// part is a part of a line with a class; empty for plain text.
type part struct{ Class, Text string }

var tokenClasses = map[string]string{"key": "k", "value": "v", "string": "s", "comment": "c"}

// partsOf divides a line by its tokens. Tokens that do not fit the line are left out: the
// text is shown in any case.
func partsOf(line string, tokens []console.Token) []part {
	var parts []part
	done := 0
	for _, t := range tokens {
		if t.From < done || t.To > len(line) || t.From >= t.To || !utf8.ValidString(line[t.From:t.To]) {
			continue
		}
		if t.From > done {
			parts = append(parts, part{"", line[done:t.From]})
		}
		parts = append(parts, part{tokenClasses[t.Class], line[t.From:t.To]})
		done = t.To
	}
	if done < len(line) {
		parts = append(parts, part{"", line[done:]})
	}
	return parts
}

// excerptOf is an excerpt with its rule marked in the colour of the outcome.
func excerptOf(e *console.Excerpt, outcome string) source {
	s := source{Title: e.Source, Href: lineHref(e.Source), Region: "Source of " + e.Source}
	for i, line := range e.Lines {
		n := e.From + i
		shown := codeLine{Number: n, Parts: partsOf(line, tokensAt(e.Tokens, i))}
		if n >= e.Mark[0] && n <= e.Mark[1] {
			shown.Class = "hit " + badge(outcome).Class
			shown.Current = n == e.Mark[0]
		}
		s.Lines = append(s.Lines, shown)
	}
	return s
}

func tokensAt(tokens [][]console.Token, line int) []console.Token {
	if line < len(tokens) {
		return tokens[line]
	}
	return nil
}

// diagnostic is a mistake with the place of its carets.
type diagnostic struct {
	console.Diagnostic
	Place, Href string
	Blank       string // before the carets
	Carets      string
	Class       string
}

func diagnosticOf(d *console.Diagnostic) diagnostic {
	place := d.File + ":" + strconv.Itoa(d.Line)
	shown := diagnostic{Diagnostic: *d, Href: lineHref(place), Place: place + ":" + strconv.Itoa(d.Column), Class: "deny"}
	if d.Severity == "warning" {
		shown.Class = "warn"
	}
	if d.Text != "" && d.Column > 0 {
		runes := []rune(d.Text)
		before := min(d.Column-1, len(runes))
		shown.Blank = strings.Map(func(r rune) rune {
			if r == '\t' {
				return r
			}
			return ' '
		}, string(runes[:before]))
		shown.Carets = strings.Repeat("^", max(1, min(d.Length, len(runes)-before)))
	}
	return shown
}
