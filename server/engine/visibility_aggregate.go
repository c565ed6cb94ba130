package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/writ-policy/writ/translator/tables"
)

// aggregator is an aggregation, with the places of its columns; -1 for none.
type aggregator struct {
	*tables.Aggregation
	field, group, filtered int
	filter                 *valueFilter
}

// newViewSource prepares what a MetricSource's aggregations need.
func newViewSource(s *tables.MetricSource) (*viewSource, error) {
	v := &viewSource{MetricSource: s}
	for i := range s.Aggregations {
		a := aggregator{Aggregation: &s.Aggregations[i], filtered: -1}
		a.field, a.group = v.place(a.Field), v.place(a.GroupBy)
		if a.Filter != nil {
			var err error
			if a.filter, err = newValueFilter(a.Filter); err != nil {
				return nil, fmt.Errorf("aggregation %q of MetricSource %q: %w", a.Name, s.Name, err)
			}
			a.filtered = v.place(&a.Filter.Field)
		}
		v.aggregators = append(v.aggregators, a)
	}
	return v, nil
}

// place returns the index of the column for a field, -1 for nil.
func (s *viewSource) place(field *tables.FieldRef) int {
	if field == nil {
		return -1
	}
	if at := slices.Index(s.columns, *field); at >= 0 {
		return at
	}
	s.columns = append(s.columns, *field)
	return len(s.columns) - 1
}

// aggregate computes every aggregation that is let through, in place of
// writ.visibility.aggregations.computed: OPA would take minutes for items by the
// hundred thousand. What is done with numbers is OPA's own arithmetic.
func (s *viewSource) aggregate(ctx context.Context, c *columns, allows func(name string) bool) (map[string]any, error) {
	values := make(map[string]any)
	for i := range s.aggregators {
		a := &s.aggregators[i]
		if !allows(a.Name) {
			continue
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		value, err := a.value(c)
		if err != nil {
			return nil, fmt.Errorf("aggregation %q: %w", a.Name, err)
		}
		values[a.Name] = value
	}
	return values, nil
}

func (a *aggregator) value(c *columns) (any, error) {
	items := make([]int, 0, c.count)
	for i := range c.count {
		if a.filter != nil {
			if value := c.values[a.filtered][i]; value == nil || !a.filter.holds(value) {
				continue
			}
		}
		items = append(items, i)
	}
	if a.group < 0 {
		return a.result(c, items)
	}
	groups := make(map[string][]int)
	for _, i := range items {
		name := groupOf(c.values[a.group][i])
		groups[name] = append(groups[name], i)
	}
	values := make(map[string]any, len(groups))
	for name, members := range groups {
		value, err := a.result(c, members)
		if err != nil {
			return nil, err
		}
		values[name] = value
	}
	return values, nil
}

func groupOf(value *ast.Term) string {
	if value != nil {
		if text, ok := termText(value); ok {
			return text
		}
	}
	return "_unknown_"
}

func (a *aggregator) result(c *columns, items []int) (any, error) {
	if a.Function == "count" {
		return ast.JSON(ast.InternedTerm(len(items)).Value)
	}
	var values []*ast.Term
	for _, i := range items {
		value := c.values[a.field][i]
		if value == nil {
			continue
		}
		if _, ok := value.Value.(ast.Number); ok || a.Function == "distinct" {
			values = append(values, value)
		}
	}
	term, err := a.of(values)
	if err != nil {
		return nil, err
	}
	return ast.JSON(term.Value)
}

func (a *aggregator) of(values []*ast.Term) (*ast.Term, error) {
	switch a.Function {
	case "distinct":
		return ast.InternedTerm(countDistinct(values)), nil
	case "sum":
		return rounded(builtin(ast.Sum, ast.ArrayTerm(values...)))
	}
	if len(values) == 0 {
		return ast.NullTerm(), nil
	}
	switch a.Function {
	case "avg":
		sum, err := builtin(ast.Sum, ast.ArrayTerm(values...))
		if err != nil {
			return nil, err
		}
		return rounded(builtin(ast.Divide, sum, ast.InternedTerm(len(values))))
	case "min":
		return ascending(values)[0], nil
	case "max":
		return ascending(values)[len(values)-1], nil
	case "percentile":
		return percentile(ascending(values), a.Percentile)
	}
	return nil, fmt.Errorf("the function %q is not known", a.Function)
}

// countDistinct counts values as writ.visibility.aggregations does, which sorts them:
// OPA's sets take fractions of the same whole part one by one, and equal numbers
// beyond a double for two.
func countDistinct(values []*ast.Term) int {
	seen := make(map[string]struct{}, len(values))
	var b []byte
	for _, value := range values {
		b = appendCanonical(b[:0], value.Value)
		if _, ok := seen[string(b)]; !ok {
			seen[string(b)] = struct{}{}
		}
	}
	return len(seen)
}

// appendCanonical appends a text that equal values share and others do not have.
func appendCanonical(b []byte, value ast.Value) []byte {
	switch v := value.(type) {
	case ast.Number:
		d := newDecimal(string(v))
		return append(strconv.AppendInt(append(strconv.AppendInt(b, int64(d.sign), 10), '.'), int64(d.point), 10), "e"+d.digits...)
	case ast.String:
		return strconv.AppendQuote(b, string(v))
	case *ast.Array:
		b = append(b, '[')
		v.Foreach(func(element *ast.Term) { b = append(appendCanonical(b, element.Value), ',') })
		return append(b, ']')
	case ast.Object:
		b = append(b, '{')
		for _, key := range v.Keys() { // in order
			b = append(appendCanonical(b, key.Value), ':')
			b = append(appendCanonical(b, v.Get(key).Value), ',')
		}
		return append(b, '}')
	}
	return append(b, value.String()...)
}

// ascending sorts numbers.
func ascending(numbers []*ast.Term) []*ast.Term {
	type keyed struct {
		decimal
		term *ast.Term
	}
	list := make([]keyed, len(numbers))
	for i, term := range numbers {
		list[i] = keyed{newDecimal(string(term.Value.(ast.Number))), term}
	}
	slices.SortStableFunc(list, func(a, b keyed) int { return a.compare(b.decimal) })
	for i := range list {
		numbers[i] = list[i].term
	}
	return numbers
}

// percentile interpolates between the two values around the rank. Hundredths keep
// the rank an integer: what lies between two numbers is exact.
func percentile(values []*ast.Term, percent int) (*ast.Term, error) {
	rank := percent * (len(values) - 1)
	low, rest := rank/100, rank%100
	if rest == 0 {
		return values[low], nil
	}
	below, err := builtin(ast.Multiply, values[low], ast.InternedTerm(100-rest))
	if err != nil {
		return nil, err
	}
	above, err := builtin(ast.Multiply, values[low+1], ast.InternedTerm(rest))
	if err != nil {
		return nil, err
	}
	sum, err := builtin(ast.Plus, below, above)
	if err != nil {
		return nil, err
	}
	return rounded(builtin(ast.Divide, sum, ast.InternedTerm(100)))
}

// fractionless is where numbers that were computed are whole: OPA calculates with
// 64 binary digits, or exactly.
const fractionless = ast.Number("18446744073709551616")

// rounded is a computed number as people write it, as writ.visibility.text has it.
func rounded(value *ast.Term, err error) (*ast.Term, error) {
	if err != nil {
		return nil, err
	}
	whole, err := isWhole(value)
	if err != nil || whole {
		return value, err
	}
	text, err := builtin(ast.Sprintf, ast.StringTerm("%v"), ast.ArrayTerm(value))
	if err != nil {
		return nil, err
	}
	return builtin(ast.ToNumber, text)
}

func isWhole(value *ast.Term) (bool, error) {
	floor, err := builtin(ast.Floor, value)
	if err != nil || floor.Equal(value) {
		return true, err
	}
	size, err := builtin(ast.Abs, value)
	return err == nil && size.Value.Compare(fractionless) >= 0, err
}

// builtin is OPA's, so that numbers come out as they do in Rego. Its own words on
// what went wrong repeat the operands, and are for nobody.
func builtin(b *ast.Builtin, operands ...*ast.Term) (result *ast.Term, err error) {
	err = topdown.GetBuiltin(b.Name)(topdown.BuiltinContext{}, operands, func(term *ast.Term) error {
		result = term
		return nil
	})
	if err != nil {
		// OPA's text has the numbers in it, and at length.
		return nil, errors.New("what it comes to is no number that can be told")
	}
	return result, nil
}
