package piece

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/writ-policy/writ/server/console"
	h "github.com/writ-policy/writ/server/console/page/html"
)

// Source is a part of a file.
type Source struct {
	Title, Href string
	Region      string
	Lines       []Line
}

// HTML is the part of the file as a figure with a name.
func (s *Source) HTML(label string) h.Node {
	title := h.Text(s.Title)
	if s.Href != "" {
		title = A(s.Href, title)
	}
	return h.Figure(h.Class("source"), h.Aria("label", label), h.FigCaption(title), h.Div(Region("code", s.Region), Lines(s.Lines)))
}

// Line is one line of a source.
type Line struct {
	Number int
	ID     string
	Href   string
	Class  string
	// Current marks the first line of a rule.
	Current bool
	Parts   []Part
	// Gutter says how often the rule on this line decided.
	Gutter string
	// Holders leads to who holds the role that begins on this line, or that the binding there
	// grants.
	Holders     Tab
	Diagnostics []Diagnostic
}

// Lines are lines of a file with what is known of them.
func Lines(lines []Line) h.Node {
	return h.Ol(Each(lines, func(l *Line) h.Node {
		return h.Group{l.html(), Each(l.Diagnostics, func(d *Diagnostic) h.Node {
			return h.Group{h.If(d.Carets != "", d.carets()), h.Li(h.Class("said "+d.Class), h.Textf("%s: %s (%s)", d.Severity, d.Message, d.Code))}
		})}
	}))
}

func (l *Line) html() h.Node {
	number := strconv.Itoa(l.Number)
	shown := h.Text(number)
	if l.Href != "" {
		shown = h.A(h.Href(l.Href), h.Aria("label", "Line "+number), shown)
	}
	return h.Li(h.If(l.ID != "", h.ID(l.ID)), h.If(l.Class != "", h.Class(l.Class)), h.If(l.Current, h.Aria("current", "true")),
		Span("n", shown), Span("t", Each(l.Parts, (*Part).html)),
		h.If(l.Gutter != "", Note("gutter", l.Gutter)), h.If(l.Holders.Href != "", Span("gutter", l.Holders.Link())))
}

func (p *Part) html() h.Node {
	if p.Class == "" {
		return h.Text(p.Text)
	}
	return Note(p.Class, p.Text)
}

// Elements is how many elements the line is shown with.
func (l *Line) Elements() int {
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

// Part is a part of a line with a class; empty for plain text.
type Part struct{ Class, Text string }

var tokenClasses = map[string]string{"key": "k", "value": "v", "string": "s", "comment": "c"}

// PartsOf divides a line by its tokens. Tokens that do not fit the line are left out: the
// text is shown in any case.
func PartsOf(line string, tokens []console.Token) []Part {
	var parts []Part
	done := 0
	for _, t := range tokens {
		if t.From < done || t.To > len(line) || t.From >= t.To || !utf8.ValidString(line[t.From:t.To]) {
			continue
		}
		if t.From > done {
			parts = append(parts, Part{"", line[done:t.From]})
		}
		parts = append(parts, Part{tokenClasses[t.Class], line[t.From:t.To]})
		done = t.To
	}
	if done < len(line) {
		parts = append(parts, Part{"", line[done:]})
	}
	return parts
}

// ExcerptOf is an excerpt with its rule marked in the colour of the outcome.
func ExcerptOf(e *console.Excerpt, outcome string) Source {
	s := Source{Title: e.Source, Href: LineHref(e.Source), Region: "Source of " + e.Source}
	for i, line := range e.Lines {
		n := e.From + i
		shown := Line{Number: n, Parts: PartsOf(line, TokensAt(e.Tokens, i))}
		if n >= e.Mark[0] && n <= e.Mark[1] {
			shown.Class = "hit " + Badge(outcome).Class
			shown.Current = n == e.Mark[0]
		}
		s.Lines = append(s.Lines, shown)
	}
	return s
}

// TokensAt are the tokens of a line; nil for a line without any.
func TokensAt(tokens [][]console.Token, line int) []console.Token {
	if line < len(tokens) {
		return tokens[line]
	}
	return nil
}

// Diagnostic is a mistake with the place of its carets.
type Diagnostic struct {
	console.Diagnostic
	Place, Href string
	Blank       string // before the carets
	Carets      string
	Class       string
}

// carets mark what is meant in the line above.
func (d *Diagnostic) carets() h.Node {
	return h.Li(h.Class("caret"), hidden, h.Span(h.Class("n")), Note("t", d.Blank+d.Carets))
}

// HTML is the mistake with its line.
func (d *Diagnostic) HTML() h.Node {
	at := h.Text(d.Place)
	if d.Href != "" {
		at = place(d.Place, d.Href)
	}
	return Div("diagnostic",
		h.P(Note("pill "+d.Class, d.Severity), h.Text(" "), h.Strong(h.Text(d.Message))),
		P("small", at, h.Text(" · "), h.Code(h.Text(d.Code))),
		h.If(d.Text != "", Div("source", h.Div(Region("code", "Excerpt of "+d.Place), h.Ol(
			h.Li(h.Class("hit "+d.Class), Note("n", strconv.Itoa(d.Line)), Note("t", d.Text)), h.If(d.Carets != "", d.carets()))))),
		h.If(d.Hint != "", P("small muted", h.Text("Hint: "+d.Hint))),
		Each(d.Related, func(r *console.Related) h.Node {
			return P("small muted", h.Text("See "), Place(r.File+":"+strconv.Itoa(r.Line)), h.Text(": "+r.Message))
		}))
}

// DiagnosticOf is a diagnostic with its place.
func DiagnosticOf(d *console.Diagnostic) Diagnostic {
	place := d.File + ":" + strconv.Itoa(d.Line)
	shown := Diagnostic{Diagnostic: *d, Href: LineHref(place), Place: place + ":" + strconv.Itoa(d.Column), Class: "deny"}
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
