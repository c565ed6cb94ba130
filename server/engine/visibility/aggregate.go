package visibility

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

// aggregator is an aggregation with the indexes of its columns; -1 means no column.
type aggregator struct {
	*tables.Aggregation
	field, group, filtered int
	filter                 *valueFilter
}

// newMetricSource prepares the aggregations of a MetricSource. It returns an error if a
// filter is invalid.
func newMetricSource(s *tables.MetricSource) (*metricSource, error) {
	v := &metricSource{MetricSource: s}
	for i := range s.Aggregations {
		a := aggregator{Aggregation: &s.Aggregations[i], filtered: -1}
		a.field, a.group = v.column(a.Field), v.column(a.GroupBy)
		if a.Filter != nil {
			var err error
			if a.filter, err = newValueFilter(a.Filter); err != nil {
				return nil, fmt.Errorf("aggregation %q of MetricSource %q: %w", a.Name, s.Name, err)
			}
			a.filtered = v.column(&a.Filter.Field)
		}
		v.aggregators = append(v.aggregators, a)
	}
	return v, nil
}

// column returns the index of the column for a field, -1 for nil.
func (s *metricSource) column(field *tables.FieldRef) int {
	if field == nil {
		return -1
	}
	if at := slices.Index(s.columns, *field); at >= 0 {
		return at
	}
	s.columns = append(s.columns, *field)
	return len(s.columns) - 1
}

// aggregate computes the allowed aggregations instead of
// writ.visibility.aggregations.computed: OPA would take minutes for hundreds of
// thousands of items. It uses OPA's arithmetic, so that both give the same numbers. It
// returns an error if a computation fails or ctx ends.
func (s *metricSource) aggregate(ctx context.Context, c *columns, allows func(name string) bool) (map[string]any, error) {
	values := make(map[string]any)
	for i := range s.aggregators {
		a := &s.aggregators[i]
		if !allows(a.Name) {
			continue
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		value, err := a.compute(c)
		if err != nil {
			return nil, fmt.Errorf("aggregation %q: %w", a.Name, err)
		}
		values[a.Name] = value
	}
	return values, nil
}

func (a *aggregator) compute(c *columns) (any, error) {
	items := make([]int, 0, c.count)
	for i := range c.count {
		if a.filter != nil {
			if value := c.values[a.filtered][i]; value == nil || !a.filter.matches(value) {
				continue
			}
		}
		items = append(items, i)
	}
	if a.group < 0 {
		return a.computeGroup(c, items)
	}
	groups := make(map[string][]int)
	for _, i := range items {
		name := groupName(c.values[a.group][i])
		groups[name] = append(groups[name], i)
	}
	values := make(map[string]any, len(groups))
	for name, members := range groups {
		value, err := a.computeGroup(c, members)
		if err != nil {
			return nil, err
		}
		values[name] = value
	}
	return values, nil
}

func groupName(value *ast.Term) string {
	if value != nil {
		if text, ok := termText(value); ok {
			return text
		}
	}
	return "_unknown_"
}

func (a *aggregator) computeGroup(c *columns, items []int) (any, error) {
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
	term, err := a.apply(values)
	if err != nil {
		return nil, err
	}
	return ast.JSON(term.Value)
}

func (a *aggregator) apply(values []*ast.Term) (*ast.Term, error) {
	switch a.Function {
	case "distinct":
		return ast.InternedTerm(countDistinct(values)), nil
	case "sum":
		return asWritten(callBuiltin(ast.Sum, ast.ArrayTerm(values...)))
	}
	if len(values) == 0 {
		return ast.NullTerm(), nil
	}
	switch a.Function {
	case "avg":
		sum, err := callBuiltin(ast.Sum, ast.ArrayTerm(values...))
		if err != nil {
			return nil, err
		}
		return asWritten(callBuiltin(ast.Divide, sum, ast.InternedTerm(len(values))))
	case "min":
		return sortNumbers(values)[0], nil
	case "max":
		return sortNumbers(values)[len(values)-1], nil
	case "percentile":
		return percentile(sortNumbers(values), a.Percentile)
	}
	return nil, fmt.Errorf("the function %q is not known", a.Function)
}

// countDistinct counts distinct values as writ.visibility.aggregations does, which sorts
// them. An OPA set cannot be used: it is slow for fractions with the same integer part,
// and counts equal numbers beyond the range of float64 twice.
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

// appendCanonical appends a text that is the same for equal values, and different for
// different ones.
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

// sortNumbers sorts numbers in place, ascending, and returns them.
func sortNumbers(numbers []*ast.Term) []*ast.Term {
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

// percentile interpolates between the two values around the rank. The rank is an
// integer in hundredths, so that interpolation is exact. values are sorted and not
// empty.
func percentile(values []*ast.Term, percent int) (*ast.Term, error) {
	rank := percent * (len(values) - 1)
	low, rest := rank/100, rank%100
	if rest == 0 {
		return values[low], nil
	}
	below, err := callBuiltin(ast.Multiply, values[low], ast.InternedTerm(100-rest))
	if err != nil {
		return nil, err
	}
	above, err := callBuiltin(ast.Multiply, values[low+1], ast.InternedTerm(rest))
	if err != nil {
		return nil, err
	}
	sum, err := callBuiltin(ast.Plus, below, above)
	if err != nil {
		return nil, err
	}
	return asWritten(callBuiltin(ast.Divide, sum, ast.InternedTerm(100)))
}

// alwaysWhole is 2 to the power of 64. Computed numbers from there on are integers,
// because OPA calculates with 64 binary digits, or exactly.
const alwaysWhole = ast.Number("18446744073709551616")

// asWritten returns a computed number with as many digits as its decimal text, as
// writ.visibility.text does. It passes err on.
func asWritten(value *ast.Term, err error) (*ast.Term, error) {
	if err != nil {
		return nil, err
	}
	whole, err := isWhole(value)
	if err != nil || whole {
		return value, err
	}
	text, err := callBuiltin(ast.Sprintf, ast.StringTerm("%v"), ast.ArrayTerm(value))
	if err != nil {
		return nil, err
	}
	return callBuiltin(ast.ToNumber, text)
}

func isWhole(value *ast.Term) (bool, error) {
	floor, err := callBuiltin(ast.Floor, value)
	if err != nil || floor.Equal(value) {
		return true, err
	}
	size, err := callBuiltin(ast.Abs, value)
	return err == nil && size.Value.Compare(alwaysWhole) >= 0, err
}

// callBuiltin calls a built-in of OPA, so that numbers are the same as in Rego. It
// returns an error if the result is not representable.
func callBuiltin(b *ast.Builtin, operands ...*ast.Term) (result *ast.Term, err error) {
	err = topdown.GetBuiltin(b.Name)(topdown.BuiltinContext{}, operands, func(term *ast.Term) error {
		result = term
		return nil
	})
	if err != nil {
		// OPA's message repeats the operands, which may be long and must not be shown.
		return nil, errors.New("the result is not a representable number")
	}
	return result, nil
}
