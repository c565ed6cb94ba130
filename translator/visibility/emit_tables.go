package visibility

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/regotext"
	"github.com/writ-policy/writ/translator/tables"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// ruleTable is a rule as the library reads it. What a Deny says of types is of no
// consequence once it matches.
func ruleTable(p *tables.VisibilityPolicy, r *tables.VisibilityRule) map[string]any {
	filters, entries, partial := map[string]any{}, map[string]any{}, false
	if !p.Deny {
		for i := range r.Entries {
			e := &r.Entries[i]
			entries[e.Type] = entryTable(e)
			if e.Restricts && !e.Custom {
				partial = true
				filters[e.Type] = filterTable(e)
			}
		}
	}
	return map[string]any{
		"matched": map[string]any{
			"kind": "MonitorAccessPolicy", "namespace": p.Namespace, "name": p.Name, "rule": r.Rule, "source": r.Source,
		},
		"permissions": list(r.Permissions),
		"partial":     partial,
		"filters":     filters,
		"entries":     entries,
	}
}

// entryTable is what items are held against. A standard entry is shown with its
// rule, a custom one by itself.
func entryTable(e *tables.VisibilityEntry) map[string]any {
	fields := map[string]any{}
	for name, criteria := range e.Fields {
		fields[name] = criteriaTable(criteria)
	}
	table := map[string]any{
		"visibility": e.Visibility,
		"restricts":  e.Restricts,
		"names":      criteriaTable(e.Names),
		"namespaces": criteriaTable(e.Namespaces),
		"labels":     object(e.Labels),
		"fields":     fields,
	}
	if e.HideMasters {
		table["hideMasters"] = true
	}
	if len(e.HideByLabels) > 0 {
		table["hideByLabels"] = e.HideByLabels
	}
	if e.Custom {
		table["include"], table["exclude"] = list(e.Include), list(e.Exclude)
		table["filter"] = filterTable(e)
	}
	return table
}

// criteriaTable has literals as keys, to be looked up, and globs as expressions.
// What is empty is not there.
func criteriaTable(c tables.Criteria) map[string]any {
	table := make(map[string]any)
	add := func(sign, list, patternList string, words, patterns []string) {
		if len(words)+len(patterns) > 0 {
			table[sign] = true
		}
		if len(words) > 0 {
			table[list] = literals(words)
		}
		if len(patterns) > 0 {
			table[patternList] = globExpressions(patterns)
		}
	}
	add("allows", "allowed", "allowedPatterns", c.Include, c.IncludePatterns)
	add("denies", "denied", "deniedPatterns", c.Exclude, c.ExcludePatterns)
	return table
}

func literals(words []string) map[string]bool {
	set := make(map[string]bool, len(words))
	for _, word := range words {
		set[word] = true
	}
	return set
}

func globExpressions(patterns []string) []string {
	list := make([]string, len(patterns))
	for i, pattern := range patterns {
		list[i] = visibilityGlob(pattern)
	}
	return list
}

// filterTable is an entry as decisions show it.
func filterTable(e *tables.VisibilityEntry) map[string]any {
	fields := map[string]any{}
	for name, criteria := range e.Fields {
		fields[name] = shownCriteria(criteria)
	}
	table := map[string]any{
		"visibility": e.Visibility,
		"names":      shownCriteria(e.Names),
		"namespaces": shownCriteria(e.Namespaces),
		"labels":     object(e.Labels),
		"fields":     fields,
	}
	if e.HideMasters {
		table["hideMasters"] = true
	}
	if len(e.HideByLabels) > 0 {
		table["hideByLabels"] = e.HideByLabels
	}
	return table
}

// shownCriteria is all four lists, or nothing at all.
func shownCriteria(c tables.Criteria) map[string]any {
	if len(c.Include)+len(c.IncludePatterns)+len(c.Exclude)+len(c.ExcludePatterns) == 0 {
		return map[string]any{}
	}
	return map[string]any{
		"include": list(c.Include), "includePatterns": list(c.IncludePatterns),
		"exclude": list(c.Exclude), "excludePatterns": list(c.ExcludePatterns),
	}
}

// list and object are never null.
func list(words []string) []string { return append([]string{}, words...) }

func object(pairs map[string]string) map[string]string {
	if pairs == nil {
		return map[string]string{}
	}
	return pairs
}

func metricSourceModule(s *tables.MetricSource) []byte {
	m := emit.NewModule(s.Name)
	fmt.Fprintf(&m.Out, "# What one MetricSource says. Generated from %s\npackage compiled.visibility\n", regotext.Comment(s.Source))
	m.Metadata("MetricSource "+s.Name, s.Source)
	aggregations := make([]any, len(s.Aggregations))
	for i := range s.Aggregations {
		aggregations[i] = aggregationTable(s, &s.Aggregations[i])
	}
	fmt.Fprintf(&m.Out, "\nmetric_sources[%s] := %s\n", regotext.Quote(s.Type), regotext.Constant(map[string]any{
		"namespaceField":     s.NamespaceField,
		"nameField":          s.NameField,
		"filterAggregations": s.FilterAggregations,
		"aggregations":       aggregations,
	}))
	return m.Bytes()
}

func aggregationTable(s *tables.MetricSource, a *tables.Aggregation) map[string]any {
	table := map[string]any{"name": a.Name, "function": a.Function}
	if a.Field != "" {
		table["field"] = fieldTable(s, a.Field)
	}
	if a.GroupBy != "" {
		table["group"] = fieldTable(s, a.GroupBy)
	}
	if a.Function == "percentile" {
		table["percentile"] = a.Percentile
	}
	if f := a.Filter; f != nil {
		filter := map[string]any{"field": fieldTable(s, f.Field), "operator": f.Operator, "value": f.Value}
		if f.Operator == "in" {
			filter["list"] = commaList(f.Value)
		}
		table["filter"] = filter
	}
	return table
}

// fieldTable says where a field of an aggregation is read: among an item's
// fields, or the item's own name or namespace where the source has no such field.
func fieldTable(s *tables.MetricSource, field string) map[string]string {
	if !slices.Contains(s.Fields, field) && !slices.Contains(s.Computed, field) {
		switch own := strings.TrimPrefix(field, "_"); own {
		case "name", "namespace":
			return map[string]string{"own": own}
		}
	}
	return map[string]string{"field": field}
}

// commaList is the words of the operator in: separated by commas, in brackets or
// not.
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
