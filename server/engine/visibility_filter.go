package engine

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/writ-policy/writ/translator/tables"
)

// valueFilter says which values an aggregation is over.
type valueFilter struct {
	operator   string
	value      string
	number     *decimal // of value, nil where it is none
	words      []string // for the operator in
	expression *regexp.Regexp
}

func newValueFilter(f *tables.AggregationFilter) (*valueFilter, error) {
	v := &valueFilter{operator: f.Operator, value: f.Value, number: numericText(f.Value), words: f.List}
	switch f.Operator {
	case "matches":
		var err error
		if v.expression, err = regexp.Compile(f.Value); err != nil {
			return nil, err
		}
	case "in", "equals", "notEquals", "contains", "startsWith", "endsWith", "greaterThan", "lessThan":
	default:
		return nil, fmt.Errorf("the operator %q is not known", f.Operator)
	}
	return v, nil
}

// holds is of a value that is there.
func (f *valueFilter) holds(term *ast.Term) bool {
	switch f.operator {
	case "greaterThan", "lessThan":
		number := numberOf(term)
		if number == nil || f.number == nil {
			return false
		}
		return number.compare(*f.number) == map[string]int{"greaterThan": 1, "lessThan": -1}[f.operator]
	}
	text, ok := termText(term)
	if !ok {
		return false
	}
	switch f.operator {
	case "equals":
		return f.equals(term, text)
	case "notEquals":
		return !f.equals(term, text)
	case "contains":
		return strings.Contains(text, f.value)
	case "startsWith":
		return strings.HasPrefix(text, f.value)
	case "endsWith":
		return strings.HasSuffix(text, f.value)
	case "in":
		return slices.Contains(f.words, text)
	}
	return f.expression.MatchString(text)
}

func (f *valueFilter) equals(term *ast.Term, text string) bool {
	if number, ok := term.Value.(ast.Number); ok {
		return f.number != nil && newDecimal(string(number)).compare(*f.number) == 0
	}
	return text == f.value
}

var numeric = regexp.MustCompile(`^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?$`)

// maxNumeric is the longest text that says a number, in characters: that of the
// longest number a request may hold.
const maxNumeric = 128

// numericText is the number a text says, nil where it says none.
func numericText(text string) *decimal {
	if len(text) > maxNumeric || !numeric.MatchString(text) {
		return nil
	}
	d := newDecimal(strings.TrimPrefix(text, "+"))
	return &d
}

// numberOf is a value that is a number or a text that says one, nil for others.
func numberOf(term *ast.Term) *decimal {
	switch v := term.Value.(type) {
	case ast.Number:
		d := newDecimal(string(v))
		return &d
	case ast.String:
		return numericText(string(v))
	}
	return nil
}
