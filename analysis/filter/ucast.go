package filter

import (
	"slices"
	"strings"
)

// Node is a node of UCAST in OPA's expanded form.
type Node struct {
	Type     string `json:"type"` // compound or field
	Operator string `json:"operator"`
	Field    string `json:"field,omitempty"`
	// Value is a list of nodes, a list of values, or a value.
	Value any `json:"value"`
}

// ucastPrinter prints a tree as UCAST. Negations stand at leaves, and each leaf that may be
// missing states what holds then, so that the answer does not depend on whether a missing
// field is unequal or unknown.
type ucastPrinter struct {
	refusals
	without []string // the operators that the variant lacks
}

// lacks are the operators that variants of UCAST lack.
var lacks = map[string][]string{
	"linq":    {"not", "startswith", "endswith", "contains"},
	"minimal": {"not", "startswith", "endswith", "contains", "in"},
}

// printUCAST prints a bound tree that is not constant.
func printUCAST(t *tree, target, variant string) (*Node, error) {
	p := &ucastPrinter{refusals{target: target}, lacks[variant]}
	node := p.print(t, true)
	return node, p.err()
}

// neverUCAST selects nothing.
func neverUCAST(c *Columns) *Node {
	name := c.name
	if name == nil {
		name = &column{name: []string{"name"}}
	}
	return &Node{"field", "in", fieldName(name), []any{}}
}

func compound(op string, nodes ...*Node) *Node {
	if len(nodes) == 1 && op != "not" {
		return nodes[0]
	}
	return &Node{Type: "compound", Operator: op, Value: nodes}
}

func fieldName(c *column) string {
	name := strings.Join(c.name, ".")
	if c.key != "" {
		name += "." + c.key
	}
	return name
}

// print prints a tree, or its negation if holds is false.
func (p *ucastPrinter) print(t *tree, holds bool) *Node {
	switch t.operator {
	case not:
		return p.print(t.kids[0], !holds)
	case and, or:
		nodes := make([]*Node, len(t.kids))
		for i, k := range t.kids {
			nodes[i] = p.print(k, holds)
		}
		if (t.operator == and) == holds {
			return compound("and", nodes...)
		}
		return compound("or", nodes...)
	case constant, leaf:
	}
	before := len(p.found)
	switch t.kind {
	case listIsNull, listIsStar, listHas: // wherever it is
		p.add(listConstruct, t.attr.String(), nil)
	default:
		p.check(t.test)
	}
	if len(p.found) > before {
		return &Node{}
	}
	return p.leaf(t.test, holds)
}

func fieldNode(op string, c *column, value any) *Node {
	return &Node{"field", op, fieldName(c), value}
}

// missing is true where the column has no value.
func missing(c *column, holds bool) *Node {
	if holds {
		return fieldNode("eq", c, nil)
	}
	return fieldNode("ne", c, nil)
}

// among is true if the column has one of values; if holds is false, it has another one.
func (p *ucastPrinter) among(c *column, values []any, holds bool) *Node {
	equal := slices.Contains(p.without, "in") || len(values) == 1
	switch {
	case holds && !equal:
		return fieldNode("in", c, values)
	case !holds && !equal && !slices.Contains(p.without, "not"):
		return compound("not", fieldNode("in", c, values))
	}
	op, together := "eq", "or"
	if !holds {
		op, together = "ne", "and"
	}
	nodes := make([]*Node, len(values))
	for i, v := range values {
		nodes[i] = fieldNode(op, c, v)
	}
	return compound(together, nodes...)
}

// presentIn prints what is false where the column has no value.
func presentIn(c *column, node *Node, holds bool) *Node {
	if holds {
		return compound("and", missing(c, false), node)
	}
	return compound("or", missing(c, true), node)
}

func (p *ucastPrinter) leaf(l *test, holds bool) *Node {
	c := l.column
	switch l.kind {
	case isIn:
		if l.second != nil {
			p.add(computed, l.attr.String(), nil)
			return &Node{}
		}
		return p.in(c, l.values, holds)
	case isLike:
		if l.second != nil {
			p.add(computed, l.attr.String(), nil)
			return &Node{}
		}
		return p.like(l, holds)
	case isNumber:
		values := make([]any, len(l.numbers))
		for i, n := range l.numbers {
			values[i] = n.value
		}
		return presentIn(c, p.among(c, values, holds), holds)
	case isBoolean:
		if l.fromGlob != nil {
			p.add(booleanGlob, l.attr.String(), l.fromGlob)
		}
		return presentIn(c, p.among(c, []any{l.truth}, holds), holds)
	case isMissing:
		return missing(c, holds)
	case hasPair:
		return presentIn(c, p.among(c, []any{l.label}, holds), holds)
	case hasLabel:
		return missing(c, !holds)
	case isUnknown:
		return missing(c, holds)
	case isOfType: // the type is a promise of the caller here
		if holds {
			return compound("or", missing(c, true), missing(c, false))
		}
		return compound("and", missing(c, true), missing(c, false))
	case listIsNull, listIsStar, listHas, isOpaque: // refused before anything is printed
	}
	panic("unknown test")
}

// in prints a test of a text, of which "" stands for a missing one.
func (p *ucastPrinter) in(c *column, texts []string, holds bool) *Node {
	values := make([]any, len(texts))
	for i, v := range texts {
		values[i] = v
	}
	node := p.among(c, values, holds)
	if !slices.Contains(texts, "") {
		return presentIn(c, node, holds)
	}
	if holds {
		return compound("or", missing(c, true), node)
	}
	return compound("and", missing(c, false), node)
}

// like prints a pattern with at most one star between two texts, or one on each side.
func (p *ucastPrinter) like(l *test, holds bool) *Node {
	g, c := l.glob, l.column
	if c.kind == integerType {
		p.add(numberGlob, l.attr.String(), g)
		return &Node{}
	}
	texts := g.runsOf()
	isContains := len(texts) == 3 && texts[0] == "" && texts[2] == "" && texts[1] != ""
	switch {
	case g.hasOne():
		p.add(globQuestion, l.attr.String(), g)
	case g.path && slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, "/") }):
		p.add(globSlash, l.attr.String(), g)
	case len(texts) != 2 && !isContains:
		p.add(globMiddle, l.attr.String(), g)
	case slices.Contains(p.without, "contains"): // a variant has all operators of patterns or none
		p.add(operatorWord, l.attr.String(), g)
	}
	if g.hasOne() || len(texts) != 2 && !isContains {
		return &Node{}
	}
	var nodes []*Node
	add := func(node *Node, holds bool) {
		if !holds {
			node = compound("not", node)
		}
		nodes = append(nodes, node)
	}
	if isContains {
		add(fieldNode("contains", c, texts[1]), holds)
	} else {
		if texts[0] != "" {
			add(fieldNode("startswith", c, texts[0]), holds)
		}
		if texts[1] != "" {
			add(fieldNode("endswith", c, texts[1]), holds)
		}
		if short := tooShort(texts[0], texts[1]); len(short) > 0 {
			nodes = append(nodes, p.among(c, short, !holds))
		}
	}
	if g.path {
		add(fieldNode("contains", c, "/"), !holds)
	}
	if holds {
		return presentIn(c, compound("and", nodes...), true)
	}
	return presentIn(c, compound("or", nodes...), false)
}

// tooShort returns the values that begin and end with two texts, which overlap in them.
func tooShort(first, last string) (out []any) {
	for n := 1; n <= min(len(first), len(last)); n++ {
		if first[len(first)-n:] == last[:n] {
			out = append(out, first+last[n:])
		}
	}
	return out
}
