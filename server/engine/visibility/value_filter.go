package visibility

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/writ-policy/writ/translator/tables"
)

// valueFilter selects the values of an aggregation.
type valueFilter struct {
	operator   string
	value      string
	number     *decimal // value as a number, nil if it is not one
	words      []string // the list of the operator in
	expression *regexp.Regexp
}

func newValueFilter(f *tables.AggregationFilter) (*valueFilter, error) {
	v := &valueFilter{operator: f.Operator, value: f.Value, number: parseNumber(f.Value), words: f.List}
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

// matches reports whether the filter selects a value, which must not be nil.
func (f *valueFilter) matches(term *ast.Term) bool {
	switch f.operator {
	case "greaterThan", "lessThan":
		number := asNumber(term)
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

var numberPattern = regexp.MustCompile(`^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?$`)

// maxNumberText is the longest text that is read as a number, in bytes. It equals the
// longest number that a request may have.
const maxNumberText = 128

// parseNumber returns the number that a text represents, nil if it is not a number.
func parseNumber(text string) *decimal {
	if len(text) > maxNumberText || !numberPattern.MatchString(text) {
		return nil
	}
	d := newDecimal(strings.TrimPrefix(text, "+"))
	return &d
}

// asNumber returns a number, or the number that a text represents; nil for other values.
func asNumber(term *ast.Term) *decimal {
	switch v := term.Value.(type) {
	case ast.Number:
		d := newDecimal(string(v))
		return &d
	case ast.String:
		return parseNumber(string(v))
	}
	return nil
}
