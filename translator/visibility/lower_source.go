package visibility

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/tables"
)

func metricSource(s *MetricSource) tables.MetricSource {
	out := tables.MetricSource{
		Namespace:          s.Namespace,
		Name:               s.Name,
		Source:             s.At.Source(),
		Type:               s.Type.Value,
		APIVersion:         s.Of.APIVersion,
		Kind:               s.Of.Kind,
		Scope:              s.Of.Scope,
		Fields:             append([]string{}, s.Fields...),
		Computed:           append([]string{}, s.Computed...),
		NamespaceField:     s.NamespaceField,
		NameField:          s.NameField,
		FilterAggregations: s.FilterAggregations,
		Aggregations:       make([]tables.Aggregation, 0, len(s.Aggregations)),
	}
	declared := make(fieldNames, len(s.Fields)+len(s.Computed))
	for _, name := range slices.Concat(s.Fields, s.Computed) {
		declared[name] = true
	}
	for i := range s.Aggregations {
		out.Aggregations = append(out.Aggregations, declared.aggregation(&s.Aggregations[i]))
	}
	return out
}

// fieldNames are the names of the fields that a source declares.
type fieldNames map[string]bool

func (declared fieldNames) aggregation(a *Aggregation) tables.Aggregation {
	out := tables.Aggregation{Name: a.Name, Function: a.Function, Percentile: a.Percentile}
	if a.Field != "" {
		out.Field = declared.ref(a.Field)
	}
	if a.GroupBy != "" {
		out.GroupBy = declared.ref(a.GroupBy)
	}
	if f := a.Filter; f != nil {
		out.Filter = &tables.AggregationFilter{Field: *declared.ref(f.Field), Operator: f.Operator, Value: f.Value}
		if f.Operator == "in" {
			out.Filter.List = commaList(f.Value)
		}
	}
	return out
}

// ref resolves the name of a field. A field of the source takes precedence over the
// item's own name or namespace.
func (declared fieldNames) ref(field string) *tables.FieldRef {
	if !declared[field] {
		if own := strings.TrimPrefix(field, "_"); own == "name" || own == "namespace" {
			return &tables.FieldRef{Own: true, Name: own}
		}
	}
	return &tables.FieldRef{Name: field}
}

// commaList returns the words of the operator in, which are separated by commas and
// may be in brackets.
func commaList(value string) []string {
	value = strings.TrimSpace(value)
	if inner, ok := strings.CutPrefix(value, "["); ok {
		value = strings.TrimSuffix(inner, "]")
	}
	words := strings.Split(value, ",")
	for i, word := range words {
		words[i] = strings.TrimSpace(word)
	}
	return words
}
