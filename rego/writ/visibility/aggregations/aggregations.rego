# METADATA
# description: |
#   Aggregations of a custom type, computed from the items that are seen.
package writ.visibility.aggregations

import data.writ.visibility.text

# METADATA
# description: |
#   The value of every aggregation of a MetricSource over the items, by name.
computed(source, items) := {aggregation.name: value |
	some aggregation in source.aggregations
	value := _value(aggregation, [item | some item in items; _counts(aggregation, item)])
}

_value(aggregation, items) := _result(aggregation, items) if not aggregation.groupBy

# Sorted by group, the members of one stand together: looked for among all, they
# would cost the product of items and groups.
_value(aggregation, items) := {group: _result(aggregation, members) |
	sorted := sort([[group, i] | some i, item in items; group := _group(aggregation, item)])
	starts := [i | some i, pair in sorted; _begins(sorted, i, pair[0])]
	ends := array.concat(starts, [count(sorted)])
	some n, start in starts
	group := sorted[start][0]
	members := [items[pair[1]] | some pair in array.slice(sorted, start, ends[n + 1])]
} if {
	aggregation.groupBy
}

_begins(_, 0, _)

_begins(sorted, i, group) if sorted[i - 1][0] != group

_group(aggregation, item) := group if {
	group := text.form(_read(item, aggregation.groupBy))
} else := "_unknown_"

# The value of a field; undefined where it is missing or null.
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
} else := _of_values(aggregation, [value |
	some item in items
	value := _read(item, aggregation.field)
])

_of_values(aggregation, values) := _count_distinct(sort(values)) if {
	aggregation.function == "distinct"
} else := _of_numbers(aggregation, [value | some value in values; is_number(value)])

# A set would take fractions of the same whole part one by one, and equal numbers
# beyond a double for two.
_count_distinct(sorted) := count([i | some i, value in sorted; not _again(sorted, i, value)])

_again(sorted, i, value) if {
	i > 0
	sorted[i - 1] == value
}

_of_numbers(aggregation, numbers) := text.rounded(sum(numbers)) if {
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

# Hundredths keep the rank an integer: what lies between two numbers is exact.
_percentile(sorted, percent) := sorted[low] if {
	rank := percent * (count(sorted) - 1)
	rank % 100 == 0
	low := rank / 100
} else := text.rounded(((sorted[low] * (100 - rest)) + (sorted[low + 1] * rest)) / 100) if {
	rank := percent * (count(sorted) - 1)
	rest := rank % 100
	low := (rank - rest) / 100
}

_counts(aggregation, _) if not aggregation.filter

_counts(aggregation, item) if {
	value := _read(item, aggregation.filter.field)
	_holds(aggregation.filter.operator, aggregation.filter, value)
}

_holds("equals", filter, value) if _equal(value, filter.value)

_holds("notEquals", filter, value) if {
	text.form(value)
	not _equal(value, filter.value)
}

_holds("contains", filter, value) if contains(text.form(value), filter.value)

_holds("startsWith", filter, value) if startswith(text.form(value), filter.value)

_holds("endsWith", filter, value) if endswith(text.form(value), filter.value)

_holds("greaterThan", filter, value) if text.number(value) > text.number(filter.value)

_holds("lessThan", filter, value) if text.number(value) < text.number(filter.value)

_holds("in", filter, value) if text.form(value) in filter.list

_holds("matches", filter, value) if regex.match(filter.value, text.form(value))

_equal(value, wanted) if {
	is_number(value)
	value == text.number(wanted)
}

_equal(value, wanted) if {
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
