package lower

import (
	"github.com/writ-policy/writ/translator/tables"
	"github.com/writ-policy/writ/translator/visibility"
)

func metricSource(s *visibility.MetricSource) tables.MetricSource {
	out := tables.MetricSource{
		Namespace:          s.Namespace,
		Name:               s.Name,
		Source:             source(s.At),
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
	for _, a := range s.Aggregations {
		out.Aggregations = append(out.Aggregations, tables.Aggregation{
			Name: a.Name, Function: a.Function, Field: a.Field, GroupBy: a.GroupBy, Percentile: a.Percentile,
			Filter: (*tables.AggregationFilter)(a.Filter),
		})
	}
	return out
}
