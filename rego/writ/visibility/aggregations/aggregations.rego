# METADATA
# description: |
#   Aggregations of a custom type, computed from the visible items.
package writ.visibility.aggregations

import data.writ.visibility.text

# METADATA
# description: |
#   The value of each aggregation of a MetricSource over the items, by name.
computed(source, items) := {aggregation.name: value |
	some aggregation in source.aggregations
	value := _value(aggregation, [item | some item in items; _is_selected(aggregation, item)])
}

_value(aggregation, items) := _result(aggregation, items) if not aggregation.groupBy

# The items are sorted by group, so that the members of a group are adjacent. Searching
# all items for each group would take time in proportion to items times groups.
_value(aggregation, items) := {group: _result(aggregation, members) |
	sorted := sort([[group, i] | some i, item in items; group := _group(aggregation, item)])
	starts := [i | some i, pair in sorted; _begins_group(sorted, i, pair[0])]
	ends := array.concat(starts, [count(sorted)])
	some n, start in starts
	group := sorted[start][0]
	members := [items[pair[1]] | some pair in array.slice(sorted, start, ends[n + 1])]
} if {
	aggregation.groupBy
}

_begins_group(_, 0, _)

_begins_group(sorted, i, group) if sorted[i - 1][0] != group

_group(aggregation, item) := group if {
	group := text.form(_read(item, aggregation.groupBy))
} else := "_unknown_"

# The value of a field; undefined if it is missing or null.
_read(item, field) := value if {
	not field.own
	value := item.fields[field.name]
	value != null
}

_read(item, field) := value if {
	field.own
	value := item[field.name]
	is_string(value)
	value != ""
}

_result(aggregation, items) := count(items) if {
	aggregation.function == "count"
} else := _value_of(aggregation, [value |
	some item in items
	value := _read(item, aggregation.field)
])

_value_of(aggregation, values) := _count_distinct(sort(values)) if {
	aggregation.function == "distinct"
} else := _number_of(aggregation, [value | some value in values; is_number(value)])

# A set cannot be used: it is slow for fractions with the same integer part, and counts
# equal numbers beyond the range of a float64 twice.
_count_distinct(sorted) := count([i | some i, value in sorted; not _is_duplicate(sorted, i, value)])

_is_duplicate(sorted, i, value) if {
	i > 0
	sorted[i - 1] == value
}

_number_of(aggregation, numbers) := text.rounded(sum(numbers)) if {
	aggregation.function == "sum"
} else := null if {
	count(numbers) == 0
} else := text.rounded(sum(numbers) / count(numbers)) if {
	aggregation.function == "avg"
} else := min(numbers) if {
	aggregation.function == "min"
} else := max(numbers) if {
	aggregation.function == "max"
} else := _percentile(sort(numbers), aggregation.percentile)

# The rank is an integer in hundredths, so that interpolation is exact.
_percentile(sorted, percent) := sorted[low] if {
	rank := percent * (count(sorted) - 1)
	rank % 100 == 0
	low := rank / 100
} else := text.rounded(((sorted[low] * (100 - rest)) + (sorted[low + 1] * rest)) / 100) if {
	rank := percent * (count(sorted) - 1)
	rest := rank % 100
	low := (rank - rest) / 100
}

_is_selected(aggregation, _) if not aggregation.filter

_is_selected(aggregation, item) if {
	value := _read(item, aggregation.filter.field)
	_matches(aggregation.filter.operator, aggregation.filter, value)
}

_matches("equals", filter, value) if _equals(value, filter.value)

_matches("notEquals", filter, value) if {
	text.form(value)
	not _equals(value, filter.value)
}

_matches("contains", filter, value) if contains(text.form(value), filter.value)

_matches("startsWith", filter, value) if startswith(text.form(value), filter.value)

_matches("endsWith", filter, value) if endswith(text.form(value), filter.value)

_matches("greaterThan", filter, value) if text.number(value) > text.number(filter.value)

_matches("lessThan", filter, value) if text.number(value) < text.number(filter.value)

_matches("in", filter, value) if text.form(value) in filter.list

_matches("matches", filter, value) if regex.match(filter.value, text.form(value))

_equals(value, wanted) if {
	is_number(value)
	value == text.number(wanted)
}

_equals(value, wanted) if {
	not is_number(value)
	text.form(value) == wanted
}

# METADATA
# description: |
#   The aggregations that an entry allows: those it includes or, if it includes none,
#   all but those it excludes.
# scope: document
allowed(entry, aggregations) := {name: aggregations[name] | some name in entry.include; name in object.keys(aggregations)} if {
	count(entry.include) > 0
} else := object.remove(aggregations, entry.exclude)
