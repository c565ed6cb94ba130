package visibility

import (
	"slices"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/tables"
)

// Shown returns which aggregations of a custom type, or which metrics, a rule that grants
// viewMetrics shows beside the items of a type, and what they are computed from: a value for
// json.Marshal. source is nil if no MetricSource defines the type, isWhole states that the
// rule hides no item.
func Shown(shown *tables.VisibilityRule, typ string, source *tables.MetricSource, isWhole bool) any {
	if (&decision.VisibilityRequest{Type: typ}).IsCustom() {
		entry := (*entry)(shown.Entries[typ])
		from := "none"
		switch {
		case source != nil && !source.FilterAggregations, isWhole:
			from = "request"
		case source != nil:
			from = "rows"
		}
		var names any = "*"
		switch {
		case entry != nil && len(entry.Include) > 0:
			names = slices.Sorted(slices.Values(entry.Include))
		case entry != nil && len(entry.Exclude) > 0 && source != nil:
			left := []string{}
			for _, a := range source.Aggregations {
				if entry.allowsAggregation(a.Name) {
					left = append(left, a.Name)
				}
			}
			slices.Sort(left)
			names = left
		}
		return map[string]any{"aggregations": map[string]any{"names": names, "from": from}}
	}
	r := &rule{VisibilityRule: shown}
	from := map[bool]string{false: "totals", true: "rows"}
	metrics := make(map[string]string)
	for _, name := range namespaceMetrics {
		metrics[name] = from[r.restricts(typeNamespaces)]
	}
	for _, name := range nodeMetrics {
		metrics[name] = from[r.restricts(typeNodes)]
	}
	pods := from[r.restricts(typeNamespaces) || r.restricts(typePods)]
	if pods == "rows" && r.countsPodsByMore() {
		pods = "null"
	}
	for _, name := range sumsOfPods {
		metrics[name] = pods
	}
	return map[string]any{"metrics": metrics}
}
