package oracle

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// Values of a document are nil, strings, bare strings, booleans, whole numbers, lists, objects
// and marked values.
type (
	member struct {
		key   string
		value any
	}
	object []member
	list   []any
	// bare is a string that YAML may have without quotes, though a decoder could
	// take it for something else.
	bare string
	// marked is a value whose place in the text is to be remembered.
	marked struct {
		value any
		place *string
	}
)

// printer writes documents into one file and knows at which line it is.
type printer struct {
	random
	file string
	text strings.Builder
}

func (p *printer) mark(value any) any {
	if m, ok := value.(marked); ok {
		*m.place = fmt.Sprintf("%s:%d", p.file, 1+strings.Count(p.text.String(), "\n"))
		return m.value
	}
	return value
}

// document writes one document of a YAML file.
func (p *printer) document(value object) {
	switch p.IntN(6) {
	case 0:
		p.json(value, 0, true)
		p.text.WriteString("\n")
	case 1:
		p.flow(value)
		p.text.WriteString("\n")
	default:
		p.block(value, 0)
	}
}

// block writes an object at an indentation, in block style as far as it likes.
func (p *printer) block(value object, indent int) {
	for i, m := range value {
		if i > 0 {
			p.text.WriteString(strings.Repeat(" ", indent))
		}
		if i > 0 && p.once(20) {
			p.text.WriteString("# a comment: {\n" + strings.Repeat(" ", indent))
		}
		p.text.WriteString(p.key(m.key) + ":")
		p.under(m.value, indent)
	}
}

// under writes the value of a key, and the end of the line.
func (p *printer) under(value any, indent int) {
	value = p.mark(value)
	switch v := value.(type) {
	case object:
		if len(v) > 0 && !p.once(3) {
			p.text.WriteString("\n" + strings.Repeat(" ", indent+2))
			p.block(v, indent+2)
			return
		}
	case list:
		if len(v) > 0 && !p.once(3) {
			p.text.WriteString("\n")
			p.items(v, indent+2*p.IntN(2))
			return
		}
	}
	p.text.WriteString(" ")
	p.flow(value)
	p.text.WriteString("\n")
}

func (p *printer) items(values list, indent int) {
	for _, value := range values {
		p.text.WriteString(strings.Repeat(" ", indent) + "- ")
		value = p.mark(value)
		if v, ok := value.(object); ok && len(v) > 0 && !p.once(3) {
			p.block(v, indent+2)
			continue
		}
		p.flow(value)
		p.text.WriteString("\n")
	}
}

// flow writes a value on one line.
func (p *printer) flow(value any) {
	switch v := p.mark(value).(type) {
	case object:
		p.text.WriteString("{")
		for i, m := range v {
			p.text.WriteString(separator(i) + p.key(m.key) + ": ")
			p.flow(m.value)
		}
		p.text.WriteString("}")
	case list:
		p.text.WriteString("[")
		for i, item := range v {
			p.text.WriteString(separator(i))
			p.flow(item)
		}
		p.text.WriteString("]")
	case string:
		p.text.WriteString(p.scalar(v))
	case bare:
		p.text.WriteString(string(v))
	default:
		p.text.WriteString(quote(v))
	}
}

func separator(i int) string {
	if i == 0 {
		return ""
	}
	return ", "
}

// json writes a value as JSON, in many lines or in one.
func (p *printer) json(value any, indent int, many bool) {
	gap, end := "", ""
	if many {
		gap, end = "\n"+strings.Repeat(" ", indent+2), "\n"+strings.Repeat(" ", indent)
	}
	switch v := p.mark(value).(type) {
	case object:
		p.text.WriteString("{")
		for i, m := range v {
			p.text.WriteString(strings.TrimSpace(separator(i)) + gap + quote(m.key) + ": ")
			p.json(m.value, indent+2, many)
		}
		p.text.WriteString(end + "}")
	case list:
		p.text.WriteString("[")
		for i, item := range v {
			p.text.WriteString(strings.TrimSpace(separator(i)) + gap)
			p.json(item, indent+2, many)
		}
		p.text.WriteString(end + "]")
	default:
		p.text.WriteString(quote(v))
	}
}

func quote(value any) string {
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

func (p *printer) scalar(text string) string {
	if plain.MatchString(text) && !words.MatchString(text) && !p.once(3) {
		return text
	}
	if p.once(4) && !strings.ContainsAny(text, "\n\t") {
		return "'" + strings.ReplaceAll(text, "'", "''") + "'"
	}
	return quote(text)
}

// key quotes a key only where it must.
func (p *printer) key(text string) string {
	if plain.MatchString(text) && !words.MatchString(text) {
		return text
	}
	return quote(text)
}
