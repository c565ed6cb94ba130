package filter

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/writ-policy/writ/internal/elements"
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

// present is true if the item has a member, which is not null.
func present(member string) string { return "has(" + member + ") && " + member + " != null" }

// field returns a field of the item, and a condition that it has a value.
func (p *celPrinter) field(name string) (value, isThere string) {
	key := p.arg(name)
	value = "item.fields[" + key + "]"
	return value, "(" + present("item.fields") + " && " + key + " in item.fields && " + value + " != null)"
}

// text returns the text of an attribute, empty for a missing one.
func (p *celPrinter) text(a attribute) string {
	var value, isThere string
	switch a.kind {
	case nameAttribute, namespaceAttribute:
		value = "item." + a.String()
		isThere = present(value)
	case elementAttribute:
		return "e"
	default:
		value, isThere = p.field(a.key)
	}
	if a.or != nil {
		return "(" + isThere + " && " + value + ` != "" ? ` + value + " : " + p.text(*a.or) + ")"
	}
	return "(" + isThere + " ? " + value + ` : "")`
}

func (p *celPrinter) leaf(l *test) string {
	switch {
	case l.kind == isIn:
		return p.text(l.attr) + " in " + p.list(l.values)
	case l.kind == isLike:
		return p.like(l)
	}
	labels := "item." + l.attr.String()
	value, isThere := "", ""
	if l.attr.kind == fieldAttribute {
		value, isThere = p.field(l.attr.key)
	}
	switch l.kind {
	case isNumber:
		out := elements.Map(l.numbers, func(n number) string { return value + " == " + p.arg(n.value) })
		return isThere + " && (" + strings.Join(out, " || ") + ")"
	case isBoolean:
		return isThere + " && " + value + " == " + strconv.FormatBool(l.truth)
	case isMissing, listIsNull:
		return "!" + isThere
	case isOfType:
		return "true"
	case hasPair:
		key := p.arg(l.key)
		return present(labels) + " && " + key + " in " + labels + " && " + labels + "[" + key + "] == " + p.arg(l.label)
	case hasLabel:
		return present(labels) + " && " + p.arg(l.key) + " in " + labels
	case isUnknown:
		return "!(" + present(labels) + ")"
	case listIsStar:
		return isThere + " && size(" + value + ") == 1 && " + value + "[0] == " + p.arg("*")
	default: // listHas
		return isThere + " && " + value + `.exists(e, e != "" && ` + p.print(l.each) + ")"
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
		value, isThere := p.field(l.attr.key)
		return isThere + " && string(" + value + ").matches(" + expression + ")"
	}
	return p.text(l.attr) + ".matches(" + expression + ")"
}
