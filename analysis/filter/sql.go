package filter

import (
	"slices"
	"strconv"
	"strings"
)

// sqlPrinter prints a tree as an expression for WHERE, which is true or false for every row.
// Its values are parameters.
type sqlPrinter struct {
	dialect
	refusals
	// isLiteral writes values into the text instead of parameters.
	isLiteral bool
	args      []any
	first     int            // number of the first parameter, where they have numbers
	number    map[string]int // of texts that are parameters, where one may be used again
}

// dialect is what differs between databases. A value is a function that adds the parameter:
// it must be called where the text has it, once for each time.
type dialect interface {
	// quote quotes an identifier.
	quote(name string) string
	// placeholder is the n-th parameter, and isNumbered states that it may be used again.
	placeholder(n int, value any) string
	isNumbered() bool
	// quoteText is a literal, which no mode of the server reads otherwise.
	quoteText(text string) string
	// binary is a text that compares byte by byte, with a parameter as parameter returns it.
	binary(text string) string
	parameter(placeholder string) string
	// matches compares a text with a pattern, which parameter returns; slashes is the number
	// of slashes of a text.
	matches(text string, p *pattern, arg func(string) string) string
	slashes(text string, slash func() string) string
	// member is the text of a member of a JSON object, NULL if it is not a string; scalar is
	// its number, and decimal the text of an integer.
	member(object string, key func() string) string
	scalar(object string, kind fieldType, key func() string) string
	decimal(integer string) string
	// isType is true if a member is missing, null or of a type, isTruth if it is a boolean.
	isType(object string, kind fieldType, key func() string) string
	isTruth(object string, truth bool, key func() string) string
	hasPair(object string, key, value func() string) string
	hasKey(object string, key func() string) string
	// list is a JSON array, in a column or in a member; elements are its texts as the rows of
	// a table and the value of each.
	list(column string, key func() string) string
	isNull(list func() string) string
	isStar(list func() string, star func() string) string
	elements(list func() string) string
	element(list func() string) string
	maxArgs() int
	maxPattern() int
}

// printSQL prints a bound tree.
func printSQL(t *tree, d dialect, target string, first int, isLiteral bool) (query string, args []any, err error) {
	p := &sqlPrinter{dialect: d, refusals: refusals{target: target}, isLiteral: isLiteral, first: first, number: make(map[string]int), args: []any{}}
	query = p.print(t, nil)
	if last := p.first - 1 + len(p.args); last > d.maxArgs() {
		p.add(tooLarge, "", nil)
	}
	return query, p.args, p.err()
}

// print prints a tree; list is the list that elements are of, if there is one.
func (p *sqlPrinter) print(t *tree, list func() string) string {
	switch t.operator {
	case constant:
		return strings.ToUpper(strconv.FormatBool(t.value))
	case not:
		return "NOT " + p.print(t.kids[0], list)
	case and:
		return p.join(t.kids, " AND ", list)
	case or:
		return p.join(t.kids, " OR ", list)
	case leaf:
	}
	before := len(p.found)
	p.checkNUL(t.test)
	if p.check(t.test); len(p.found) > before {
		return "FALSE" // which is not returned
	}
	return p.leaf(t.test, list)
}

// width is how many conditions stand in one chain: databases bound the depth of chains.
const width = 64

// join joins conditions as a balanced tree.
func (p *sqlPrinter) join(kids []*tree, op string, list func() string) string {
	if len(kids) > width {
		half := len(kids) / 2
		return "(" + p.join(kids[:half], op, list) + op + p.join(kids[half:], op, list) + ")"
	}
	texts := make([]string, len(kids))
	for i, k := range kids {
		texts[i] = p.print(k, list)
	}
	return "(" + strings.Join(texts, op) + ")"
}

// arg adds a parameter and returns its placeholder.
func (p *sqlPrinter) arg(value any) string {
	text, isText := value.(string)
	if p.isLiteral {
		return p.literal(value)
	}
	if n, found := p.number[text]; isText && found {
		return p.placeholder(n, value)
	}
	p.args = append(p.args, value)
	n := p.first - 1 + len(p.args)
	if isText && p.isNumbered() {
		p.number[text] = n
	}
	return p.placeholder(n, value)
}

// literal writes a value that stands in the text.
func (p *sqlPrinter) literal(value any) string {
	switch v := value.(type) {
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case string:
		return p.quoteText(v)
	}
	panic("a value is a text or a number")
}

// isPlain reports whether a text has neither a backslash nor a control character, so that
// doubled quotes are all that a literal of it needs, in every mode of a server.
func isPlain(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r == '\\' || isControl(r) })
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

func doubled(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

func (p *sqlPrinter) argOf(value any) func() string { return func() string { return p.arg(value) } }

func (p *sqlPrinter) column(c *column) string {
	parts := make([]string, len(c.name))
	for i, name := range c.name {
		parts[i] = p.quote(name)
	}
	return strings.Join(parts, ".")
}

// leaf prints a test that can be said.
func (p *sqlPrinter) leaf(l *test, list func() string) string {
	c := l.column
	name, key := p.column(c), p.argOf(c.key)
	switch l.kind {
	case isIn, isLike:
		return p.texts(l, list)
	case hasPair:
		if c.isJSON {
			return p.hasPair(name, p.argOf(l.key), p.argOf(l.label))
		}
		// NULL is a missing label, and not one whose value is empty.
		return "(" + name + " IS NOT NULL AND " + p.among(name, []string{l.label}, &column{notNull: true}) + ")"
	case hasLabel:
		if c.isJSON {
			return p.hasKey(name, p.argOf(l.key))
		}
		return "(" + name + " IS NOT NULL)"
	case isNumber:
		return p.numbers(l)
	case isBoolean:
		if c.key != "" {
			return p.isTruth(name, l.truth, key)
		}
		return "(" + name + " IS " + strings.ToUpper(strconv.FormatBool(l.truth)) + ")"
	case isMissing:
		if c.key != "" && c.kind == booleanType { // which has neither a number nor a text
			return "(NOT " + p.isTruth(name, true, key) + " AND NOT " + p.isTruth(name, false, key) + ")"
		}
		return "(" + p.value(c) + " IS NULL)"
	case isUnknown:
		return "(" + name + " IS NULL)"
	case isOfType:
		return p.isType(name, c.kind, key)
	case listIsNull:
		return p.isNull(p.listOf(c))
	case listIsStar:
		return p.isStar(p.listOf(c), p.argOf("*"))
	case listHas:
		of := p.listOf(c)
		// The order of the parameters is that of the text.
		from := p.elements(of)
		return "EXISTS (SELECT 1 FROM " + from + " WHERE COALESCE(" + p.binary(p.element(of)) + ", '') <> '' AND " + p.print(l.each, of) + ")"
	case isOpaque: // refused before anything is printed
	}
	panic("unknown test")
}

func (p *sqlPrinter) listOf(c *column) func() string {
	return func() string {
		if c.key == "" {
			return p.list(p.column(c), nil)
		}
		return p.list(p.column(c), p.argOf(c.key))
	}
}

// value returns the value of a column that is not a text, or of a member.
func (p *sqlPrinter) value(c *column) string {
	switch {
	case c.key == "":
		return p.column(c)
	case c.kind == textType:
		return p.member(p.column(c), p.argOf(c.key))
	}
	return p.scalar(p.column(c), c.kind, p.argOf(c.key))
}

// texts prints a test of a text. A column stands alone, so that an index of it is used.
func (p *sqlPrinter) texts(l *test, list func() string) string {
	c := l.column
	plain := &column{}
	var text string
	switch {
	case l.attr.kind == elementAttribute:
		text = "COALESCE(" + p.element(list) + ", '')"
		plain.notNull = true
	case l.second != nil:
		first := p.value(c)
		text = "CASE WHEN COALESCE(" + p.binary(first) + ", '') <> '' THEN " + p.value(c) + " ELSE COALESCE(" + p.value(l.second) + ", '') END"
		text, plain.notNull = "("+text+")", true
	case l.kind == isLike && c.kind == integerType:
		text = "COALESCE(" + p.decimal(p.value(c)) + ", '')"
		plain.notNull = true
	case c.key != "":
		text = "COALESCE(" + p.value(c) + ", '')"
		plain.notNull = true
	default:
		text, plain = p.column(c), c
	}
	if l.kind == isIn {
		return p.among(text, l.values, plain)
	}
	return p.like(text, l.glob, plain)
}

// among is true if a text is one of values, of which "" stands for NULL as well.
func (p *sqlPrinter) among(text string, values []string, c *column) string {
	out := p.binary(text)
	if c.exact {
		out = text
	}
	placeholders := make([]string, len(values))
	for i, v := range values {
		if placeholders[i] = "''"; v != "" {
			placeholders[i] = p.arg(v)
			if !c.exact {
				placeholders[i] = p.parameter(placeholders[i])
			}
		}
	}
	if len(values) == 1 {
		out += " = " + placeholders[0]
	} else {
		out += " IN (" + strings.Join(placeholders, ", ") + ")"
	}
	switch {
	case c.notNull:
		return "(" + out + ")"
	case slices.Contains(values, ""):
		return "(" + text + " IS NULL OR " + out + ")"
	}
	return "(" + text + " IS NOT NULL AND " + out + ")"
}

// like is true if a text matches a pattern. One whose wildcards stop at slashes fits if the
// value has as many as the pattern.
func (p *sqlPrinter) like(text string, g *pattern, c *column) string {
	pattern := func(pattern string) string {
		if len(pattern) > p.maxPattern() {
			p.add(tooLarge, "", g)
		}
		return p.arg(pattern)
	}
	out := p.matches(text, g, pattern)
	if g.path {
		out += " AND " + p.slashes(text, p.argOf("/")) + " = " + strconv.Itoa(g.slashes())
	}
	if c.notNull {
		return "(" + out + ")"
	}
	return "(" + text + " IS NOT NULL AND " + out + ")"
}

// numbers is true if a number is one of some.
func (p *sqlPrinter) numbers(l *test) string {
	value := p.value(l.column)
	list := make([]string, len(l.numbers))
	for i, n := range l.numbers {
		list[i] = p.arg(n.value)
	}
	return "COALESCE(" + value + " IN (" + strings.Join(list, ", ") + "), FALSE)"
}
