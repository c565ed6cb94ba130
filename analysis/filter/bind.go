package filter

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// bind finds the column of each leaf. What no row has, and what no value of the type of a
// field can be, becomes a constant.
func bind(t *tree, c *Columns) *tree {
	return t.replace(func(l *test) *tree {
		switch {
		case l.kind == isOpaque:
			return nil
		case l.kind == isUnknown:
			return c.bindUnknown(l)
		case l.kind == hasPair, l.kind == hasLabel:
			column, mapped := c.of(l.attr, l.key)
			if mapped && column == nil {
				return never
			}
			return l.at(column)
		}
		column, mapped := c.of(l.attr, "")
		if l.attr.or != nil {
			return c.bindEither(l, column, mapped)
		}
		if mapped && column == nil {
			return l.withoutValue()
		}
		if column == nil {
			return l.at(nil)
		}
		return l.typed(column)
	})
}

func (l *test) at(c *column) *tree {
	found := *l
	found.column = c
	return leafOf(found)
}

// bindUnknown binds whether labels are known: those in columns of their own are, and those
// that no row has are not.
func (c *Columns) bindUnknown(l *test) *tree {
	labels := c.labels
	if l.attr.kind == namespaceLabelsAttribute {
		labels = c.namespaceLabels
	}
	switch {
	case labels == nil && c.mapped[l.attr.String()]:
		return always
	case labels == nil:
		return l.at(nil)
	case labels.json == nil:
		return known(labels.columns == nil)
	}
	return l.at(&column{name: labels.json, isJSON: true})
}

// bindEither binds a leaf over one attribute, or another one where it is empty.
func (c *Columns) bindEither(l *test, first *column, mapped bool) *tree {
	alone := func(a attribute) *tree {
		only := *l
		only.attr = a
		return bind(leafOf(only), c)
	}
	one := l.attr
	one.or = nil
	second, secondMapped := c.of(*l.attr.or, "")
	switch {
	case mapped && first == nil:
		return alone(*l.attr.or)
	case secondMapped && second == nil:
		return alone(one)
	case !secondMapped:
		missing := *l
		missing.attr = *l.attr.or
		return missing.at(nil)
	}
	both := *l
	both.column, both.second = first, second
	return leafOf(both)
}

// withoutValue is the leaf where no row has a value.
func (l *test) withoutValue() *tree {
	switch l.kind {
	case isIn:
		return known(slices.Contains(l.values, ""))
	case isLike:
		if l.glob.problem != "" {
			return l.at(nil)
		}
		return known(l.glob.matches(""))
	case listIsNull, isOfType:
		return always
	default:
		return never
	}
}

var canonicalInteger = regexp.MustCompile(`^(0|-?[1-9][0-9]*)$`)

// typed is the leaf for the type of its column. The text of a number or a boolean is
// compared as a value of the type.
func (l *test) typed(c *column) *tree {
	missing := l.at(c)
	missing.kind = isMissing
	switch {
	case l.kind == isOfType && c.isJSON: // a list has no text
		missing.kind = listIsNull
		return missing
	case l.kind == isOfType && c.key == "":
		return always
	case c.isJSON && (l.kind == isIn || l.kind == isLike):
		return l.withoutValue()
	case l.kind != isIn && l.kind != isLike || c.kind == textType || c.isJSON || l.attr.identifier:
		return l.at(c)
	case c.kind == booleanType:
		return l.booleans(c, missing)
	case l.kind == isLike:
		return l.at(c)
	}
	out := never
	var numbers []number
	for _, v := range l.values {
		switch n, ok := numberOf(v, c.kind); {
		case v == "":
			out = missing
		case ok:
			numbers = append(numbers, n)
		case canonicalInteger.MatchString(v) && c.kind == integerType:
			numbers = append(numbers, number{text: v}) // more than 64 bits, which a row may have: refused
		}
	}
	if len(numbers) == 0 {
		return out
	}
	found := l.at(c)
	found.kind, found.numbers = isNumber, numbers
	return anyOf(out, found)
}

// numberOf returns the number that a literal is, false if no value of the type has it as its
// text.
func numberOf(text string, kind fieldType) (number, bool) {
	if kind == integerType {
		n, err := strconv.ParseInt(text, 10, 64)
		return number{text, n}, err == nil && canonicalInteger.MatchString(text)
	}
	n, err := strconv.ParseFloat(text, 64)
	return number{text, n}, err == nil && strconv.FormatFloat(n, 'f', -1, 64) == text && text != "-0" && !strings.ContainsAny(text, "IN")
}

// booleans compares the texts of both booleans and of a missing one.
func (l *test) booleans(c *column, missing *tree) *tree {
	fits := func(text string) bool { return slices.Contains(l.values, text) }
	if l.kind == isLike {
		if l.glob.problem != "" {
			return l.at(c)
		}
		fits = l.glob.matches
	}
	out := never
	for _, truth := range []bool{true, false} {
		if fits(strconv.FormatBool(truth)) {
			found := l.at(c)
			found.kind, found.truth, found.fromGlob = isBoolean, truth, l.glob
			out = anyOf(out, found)
		}
	}
	if fits("") {
		out = anyOf(out, missing)
	}
	return out
}
