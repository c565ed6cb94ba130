// Package yaml writes documents in random spelling, as YAML or JSON.
package yaml

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/writ-policy/writ/tests/oracle/random"
)

// Values of a document are nil, strings, bare strings, booleans, whole numbers, lists, objects
// and marked values.
type (
	// Member is a key, which is a string, and its value.
	Member [2]any
	// Object has its members in the order in which they are written.
	Object []Member
	// List is a sequence of values.
	List []any
	// Bare is a string that YAML may have without quotes, though a decoder could
	// take it for something else.
	Bare string
	// Marked is a value whose place in the text is recorded.
	Marked struct {
		Value any
		place *string
	}
)

// Mark returns value as one whose place, "file:line", is written to place.
func Mark(value any, place *string) Marked { return Marked{value, place} }

// Annotations returns the annotations of a document with dates, nil for one without.
func Annotations(notBefore, notAfter string) Object {
	var out Object
	if notBefore != "" {
		out = append(out, Member{"writ.dev/not-before", notBefore})
	}
	if notAfter != "" {
		out = append(out, Member{"writ.dev/not-after", Bare(notAfter)})
	}
	return out
}

// Key returns the key of a member.
func (m Member) Key() string { return m[0].(string) }

// Printer writes documents into one file and records at which line it is.
type Printer struct {
	random.Source
	File string
	Text strings.Builder
}

func (p *Printer) mark(value any) any {
	if m, ok := value.(Marked); ok {
		*m.place = fmt.Sprintf("%s:%d", p.File, 1+strings.Count(p.Text.String(), "\n"))
		return m.Value
	}
	return value
}

// document writes one document of a YAML file.
func (p *Printer) document(value Object) {
	switch p.IntN(6) {
	case 0:
		p.JSON(value, 0, true)
		p.Text.WriteString("\n")
	case 1:
		p.flow(value)
		p.Text.WriteString("\n")
	default:
		p.block(value, 0)
	}
}

// block writes an object at an indentation, in block style as far as it likes.
func (p *Printer) block(value Object, indent int) {
	for i, m := range value {
		if i > 0 {
			p.Text.WriteString(strings.Repeat(" ", indent))
		}
		if i > 0 && p.Once(20) {
			p.Text.WriteString("# a comment: {\n" + strings.Repeat(" ", indent))
		}
		p.Text.WriteString(p.key(m.Key()) + ":")
		p.under(m[1], indent)
	}
}

// under writes the value of a key, and the end of the line.
func (p *Printer) under(value any, indent int) {
	value = p.mark(value)
	switch v := value.(type) {
	case Object:
		if len(v) > 0 && !p.Once(3) {
			p.Text.WriteString("\n" + strings.Repeat(" ", indent+2))
			p.block(v, indent+2)
			return
		}
	case List:
		if len(v) > 0 && !p.Once(3) {
			p.Text.WriteString("\n")
			p.items(v, indent+2*p.IntN(2))
			return
		}
	}
	p.Text.WriteString(" ")
	p.flow(value)
	p.Text.WriteString("\n")
}

func (p *Printer) items(values List, indent int) {
	for _, value := range values {
		p.Text.WriteString(strings.Repeat(" ", indent) + "- ")
		value = p.mark(value)
		if v, ok := value.(Object); ok && len(v) > 0 && !p.Once(3) {
			p.block(v, indent+2)
			continue
		}
		p.flow(value)
		p.Text.WriteString("\n")
	}
}

// flow writes a value on one line.
func (p *Printer) flow(value any) {
	switch v := p.mark(value).(type) {
	case Object:
		p.Text.WriteString("{")
		for i, m := range v {
			p.Text.WriteString(separator(i) + p.key(m.Key()) + ": ")
			p.flow(m[1])
		}
		p.Text.WriteString("}")
	case List:
		p.Text.WriteString("[")
		for i, item := range v {
			p.Text.WriteString(separator(i))
			p.flow(item)
		}
		p.Text.WriteString("]")
	case string:
		p.Text.WriteString(p.scalar(v))
	case Bare:
		p.Text.WriteString(string(v))
	default:
		p.Text.WriteString(Quote(v))
	}
}

func separator(i int) string {
	if i == 0 {
		return ""
	}
	return ", "
}

// JSON writes a value as JSON, in many lines or in one.
func (p *Printer) JSON(value any, indent int, many bool) {
	gap, end := "", ""
	if many {
		gap, end = "\n"+strings.Repeat(" ", indent+2), "\n"+strings.Repeat(" ", indent)
	}
	switch v := p.mark(value).(type) {
	case Object:
		p.Text.WriteString("{")
		for i, m := range v {
			p.Text.WriteString(strings.TrimSpace(separator(i)) + gap + Quote(m.Key()) + ": ")
			p.JSON(m[1], indent+2, many)
		}
		p.Text.WriteString(end + "}")
	case List:
		p.Text.WriteString("[")
		for i, item := range v {
			p.Text.WriteString(strings.TrimSpace(separator(i)) + gap)
			p.JSON(item, indent+2, many)
		}
		p.Text.WriteString(end + "]")
	default:
		p.Text.WriteString(Quote(v))
	}
}

// Quote returns value as JSON.
func Quote(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // only what JSON has comes here
	}
	return string(text)
}

// plain are the strings that mean themselves without quotes in YAML 1.2 and in
// YAML 1.1 alike.
var plain = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9./-]*$`)

var words = regexp.MustCompile(`^(?i:y|n|yes|no|on|off|true|false|null)$`)

func (p *Printer) scalar(text string) string {
	if plain.MatchString(text) && !words.MatchString(text) && !p.Once(3) {
		return text
	}
	if p.Once(4) && !strings.ContainsAny(text, "\n\t") {
		return "'" + strings.ReplaceAll(text, "'", "''") + "'"
	}
	return Quote(text)
}

// key quotes a key only where it must.
func (p *Printer) key(text string) string {
	if plain.MatchString(text) && !words.MatchString(text) {
		return text
	}
	return Quote(text)
}
