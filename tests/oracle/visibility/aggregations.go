package visibility

import (
	"math/big"
	"slices"
)

// values are all aggregations that may be reported, before names choose among them.
func (w *World) values(r Request, source *MetricSource, decision string, shown []Item) map[string]any {
	if source != nil && source.KeepTotals || decision == "allow" && len(r.Aggregations) > 0 {
		return r.Aggregations
	}
	values := map[string]any{}
	if r.Items == nil || source == nil {
		return values
	}
	for _, a := range source.Aggregations {
		values[a.Name] = a.compute(source, shown)
	}
	return values
}

// chosen are the values whose names the entry lets through.
func chosen(e *Entry, values map[string]any) map[string]any {
	kept := map[string]any{}
	for name, value := range values {
		if len(e.Include) > 0 && slices.Contains(e.Include, name) || len(e.Include) == 0 && !slices.Contains(e.Exclude, name) {
			kept[name] = value
		}
	}
	return kept
}

func (a *Aggregation) compute(source *MetricSource, items []Item) any {
	var passing []Item
	for _, item := range items {
		if a.Filter == nil || a.Filter.passes(source.value(item, a.Filter.Field)) {
			passing = append(passing, item)
		}
	}
	if a.GroupBy == "" {
		return a.reduce(source, passing)
	}
	groups := map[string][]Item{}
	for _, item := range passing {
		value := source.value(item, a.GroupBy)
		group, ok := textOf(value)
		if !ok || value == nil {
			group = "_unknown_"
		}
		groups[group] = append(groups[group], item)
	}
	values := map[string]any{}
	for group, members := range groups {
		values[group] = a.reduce(source, members)
	}
	return values
}

// value is what an aggregation reads of an item: a field that the source
// declares, else the item's own name or namespace.
func (s *MetricSource) value(item Item, field string) any {
	if slices.Contains(s.Fields, field) || slices.Contains(s.Computed, field) {
		return item.Fields[field]
	}
	own := item.Name
	if field == "namespace" || field == "_namespace" {
		own = item.Namespace
	}
	if own == "" {
		return nil
	}
	return own
}

func (a *Aggregation) reduce(source *MetricSource, items []Item) any {
	if a.Function == "count" {
		return integer(len(items))
	}
	var different []any
	var numbers []*big.Rat
	for _, item := range items {
		value := source.value(item, a.Field)
		if value != nil && !slices.ContainsFunc(different, func(other any) bool { return same(value, other) }) {
			different = append(different, value)
		}
		if n, ok := numberOf(value); ok {
			numbers = append(numbers, n)
		}
	}
	slices.SortFunc(numbers, (*big.Rat).Cmp)
	switch {
	case a.Function == "distinct":
		return integer(len(different))
	case a.Function == "sum":
		return summed(numbers)
	case len(numbers) == 0:
		return nil
	}
	switch a.Function {
	case "min":
		return Number{Rat: numbers[0]}
	case "max":
		return Number{Rat: numbers[len(numbers)-1]}
	case "avg":
		return Number{Rat: new(big.Rat).Quo(summed(numbers).Rat, big.NewRat(int64(len(numbers)), 1)), About: true}
	}
	// percentile: r = p/100·(n−1), between the neighbours of r.
	hundredths := a.Percentile * (len(numbers) - 1)
	low := numbers[hundredths/100]
	high := numbers[(hundredths+99)/100]
	between := new(big.Rat).Sub(high, low)
	between.Mul(between, big.NewRat(int64(hundredths%100), 100))
	return Number{Rat: between.Add(between, low), About: true}
}
