package filter

import (
	"regexp"
	"strconv"
	"strings"
)

// celPrinter prints a tree as an expression of CEL over item and args. It never fails,
// whatever an item lacks.
type celPrinter struct {
	refusals
	args   []any
	number map[any]string
}

// printCEL prints a bound tree.
func printCEL(t *tree, target string) (query string, args []any, err error) {
	p := &celPrinter{refusals: refusals{target: target}, number: make(map[any]string), args: []any{}}
	query = p.print(t)
	return query, p.args, p.err()
}

func (p *celPrinter) arg(value any) string {
	if found, ok := p.number[value]; ok {
		return found
	}
	p.number[value] = "args[" + strconv.Itoa(len(p.args)) + "]"
	p.args = append(p.args, value)
	return p.number[value]
}

func (p *celPrinter) list(values []string) string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = p.arg(v)
	}
	return "[" + strings.Join(out, ", ") + "]"
}

func (p *celPrinter) print(t *tree) string {
	switch t.operator {
	case constant:
		return strconv.FormatBool(t.value)
	case not:
		return "!" + p.print(t.kids[0])
	case and:
		return p.join(t.kids, " && ")
	case or:
		return p.join(t.kids, " || ")
	case leaf:
	}
	before := len(p.found)
	if p.check(t.test); len(p.found) > before {
		return "false"
	}
	return "(" + p.leaf(t.test) + ")"
}

func (p *celPrinter) join(kids []*tree, op string) string {
	if len(kids) > width {
		half := len(kids) / 2
		return "(" + p.join(kids[:half], op) + op + p.join(kids[half:], op) + ")"
	}
	out := make([]string, len(kids))
	for i, k := range kids {
		out[i] = p.print(k)
	}
	return "(" + strings.Join(out, op) + ")"
}

// field returns a field of the item, and a condition that it has a value.
func (p *celPrinter) field(name string) (value, present string) {
	key := p.arg(name)
	value = "item.fields[" + key + "]"
	return value, "(has(item.fields) && " + key + " in item.fields && " + value + " != null)"
}

// text returns the text of an attribute, empty for a missing one.
func (p *celPrinter) text(a attribute) string {
	var value, present string
	switch a.kind {
	case nameAttribute:
		value, present = "item.name", "has(item.name)"
	case namespaceAttribute:
		value, present = "item.namespace", "has(item.namespace)"
	case elementAttribute:
		return "e"
	default:
		value, present = p.field(a.key)
	}
	if a.or != nil {
		return "(" + present + " && " + value + ` != "" ? ` + value + " : " + p.text(*a.or) + ")"
	}
	return "(" + present + " ? " + value + ` : "")`
}

func (p *celPrinter) leaf(l *test) string {
	switch {
	case l.kind == isIn:
		return p.text(l.attr) + " in " + p.list(l.values)
	case l.kind == isLike:
		return p.like(l)
	}
	labels := "item." + l.attr.String()
	value, present := "", ""
	if l.attr.kind == fieldAttribute {
		value, present = p.field(l.attr.key)
	}
	switch l.kind {
	case isNumber:
		var out []string
		for _, n := range l.numbers {
			out = append(out, value+" == "+p.arg(n.value))
		}
		return present + " && (" + strings.Join(out, " || ") + ")"
	case isBoolean:
		return present + " && " + value + " == " + strconv.FormatBool(l.truth)
	case isMissing, listIsNull:
		return "!" + present
	case isOfType:
		return "true"
	case hasPair:
		key := p.arg(l.key)
		return "has(" + labels + ") && " + key + " in " + labels + " && " + labels + "[" + key + "] == " + p.arg(l.label)
	case hasLabel:
		return "has(" + labels + ") && " + p.arg(l.key) + " in " + labels
	case isUnknown:
		return "!has(" + labels + ")"
	case listIsStar:
		return present + " && size(" + value + ") == 1 && " + value + "[0] == " + p.arg("*")
	default: // listHas
		return present + " && " + value + `.exists(e, e != "" && ` + p.print(l.each) + ")"
	}
}

// like prints a pattern as a regular expression for the whole value.
func (p *celPrinter) like(l *test) string {
	run, one := ".*", "."
	if l.glob.path {
		run, one = "[^/]*", "[^/]"
	}
	expression := p.arg("(?s)^" + patternWith(l.glob, run, one, regexp.QuoteMeta) + "$")
	if l.column.kind == integerType {
		value, present := p.field(l.attr.key)
		return present + " && string(" + value + ").matches(" + expression + ")"
	}
	return p.text(l.attr) + ".matches(" + expression + ")"
}
