package writ.visibility.aggregations_test

import data.writ.visibility.aggregations

_items := [
	{"name": "a", "namespace": "x", "fields": {"size": 10, "class": "gp3", "on": true, "many": [1]}},
	{"name": "b", "namespace": "x", "fields": {"size": 20, "class": "gp2", "on": false, "many": {}}},
	{"name": "c", "namespace": "y", "fields": {"size": 30, "class": "gp3", "on": true}},
	{"name": "d", "fields": {"size": 40, "class": null}},
	{"fields": {"size": "50", "class": "1"}},
	{"fields": {"class": 1}},
]

_value(aggregation, items) := aggregations.computed(
	{"aggregations": [object.union({"name": "x"}, aggregation)]},
	items,
).x

test_function[note] if {
	some note, row in {
		"count": {"is": {"function": "count"}, "want": 6},
		"sum": {"is": {"function": "sum", "field": {"name": "size"}}, "want": 100},
		"avg": {"is": {"function": "avg", "field": {"name": "size"}}, "want": 25},
		"min": {"is": {"function": "min", "field": {"name": "size"}}, "want": 10},
		"max": {"is": {"function": "max", "field": {"name": "size"}}, "want": 40},
		"median": {"is": {"function": "percentile", "field": {"name": "size"}, "percentile": 50}, "want": 25},
		"p90": {"is": {"function": "percentile", "field": {"name": "size"}, "percentile": 90}, "want": 37},
		"p0": {"is": {"function": "percentile", "field": {"name": "size"}, "percentile": 0}, "want": 10},
		"p100": {"is": {"function": "percentile", "field": {"name": "size"}, "percentile": 100}, "want": 40},
		"distinct": {"is": {"function": "distinct", "field": {"name": "class"}}, "want": 4},
		"its own name": {"is": {"function": "distinct", "field": {"own": true, "name": "name"}}, "want": 4},
		"its own namespace": {"is": {"function": "distinct", "field": {"own": true, "name": "namespace"}}, "want": 2},
	}
	_value(row.is, _items) == row.want
}

# Numbers beyond the range of a float64 are not rounded to one. A quotient has 64 binary
# digits.
test_large[note] if {
	some note, row in {
		"sum": {"is": {"function": "sum"}, "want": 4e400},
		"avg": {"is": {"function": "avg"}, "want": 2e400},
		"min": {"is": {"function": "min"}, "want": 1e400},
		"max": {"is": {"function": "max"}, "want": 3e400},
		"median": {"is": {"function": "percentile", "percentile": 50}, "want": 2e400},
	}
	sizes := [{"fields": {"size": 1e400}}, {"fields": {"size": 3e400}}]
	got := _value(object.union({"field": {"name": "size"}}, row.is), sizes)
	abs(got - row.want) * 1e18 <= row.want
}

test_distinct[note] if {
	some note, row in {
		"a number and its text": {"values": `[1, "1", 1.0, 10e-1, true, 1]`, "want": 3},
		"false": {"values": `[false, false, true]`, "want": 2},
		"beyond a double": {"values": `[1e400, 10e399, -1e400, 1e401]`, "want": 3},
		"lists and objects": {"values": `[[1, 2], [1.0, 2], [2, 1], {"a": 1}, {"a": 1.0}, [], {}]`, "want": 5},
	}
	items := [{"fields": {"f": value}} | some value in json.unmarshal(row.values)]
	_value({"function": "distinct", "field": {"name": "f"}}, items) == row.want
}

test_nothing[note] if {
	some note, row in {
		"count": {"is": {"function": "count"}, "want": 0},
		"sum": {"is": {"function": "sum", "field": {"name": "size"}}, "want": 0},
		"avg": {"is": {"function": "avg", "field": {"name": "size"}}, "want": null},
		"min": {"is": {"function": "min", "field": {"name": "size"}}, "want": null},
		"max": {"is": {"function": "max", "field": {"name": "size"}}, "want": null},
		"percentile": {"is": {"function": "percentile", "field": {"name": "size"}, "percentile": 50}, "want": null},
		"distinct": {"is": {"function": "distinct", "field": {"name": "size"}}, "want": 0},
		"groups": {"is": {"function": "count", "groupBy": {"name": "class"}}, "want": {}},
	}
	_value(row.is, []) == row.want
}

test_group[note] if {
	some note, row in {
		"count": {
			"is": {"function": "count", "groupBy": {"name": "class"}},
			"want": {"gp3": 2, "gp2": 1, "1": 2, "_unknown_": 1},
		},
		"max": {
			"is": {"function": "max", "field": {"name": "size"}, "groupBy": {"name": "class"}},
			"want": {"gp3": 30, "gp2": 20, "1": null, "_unknown_": 40},
		},
		"true and false": {
			"is": {"function": "count", "groupBy": {"name": "on"}},
			"want": {"true": 2, "false": 1, "_unknown_": 3},
		},
		"no text": {"is": {"function": "count", "groupBy": {"name": "many"}}, "want": {"_unknown_": 6}},
	}
	_value(row.is, _items) == row.want
}

test_filter[note] if {
	some note, row in {
		"equals": {"is": ["class", "equals", "gp3"], "want": 2},
		"equals a number": {"is": ["size", "equals", "10.0"], "want": 1},
		"a number and text": {"is": ["class", "equals", "1"], "want": 2},
		"equals true": {"is": ["on", "equals", "true"], "want": 2},
		"not equals": {"is": ["class", "notEquals", "gp3"], "want": 3},
		"not equals a number": {"is": ["size", "notEquals", "10"], "want": 4},
		"not equals no number": {"is": ["size", "notEquals", "ten"], "want": 5},
		"contains": {"is": ["class", "contains", "p"], "want": 3},
		"starts with": {"is": ["class", "startsWith", "gp"], "want": 3},
		"ends with": {"is": ["class", "endsWith", "3"], "want": 2},
		"greater": {"is": ["size", "greaterThan", "20"], "want": 3},
		"less": {"is": ["size", "lessThan", "20"], "want": 1},
		"greater than a word": {"is": ["size", "greaterThan", "x"], "want": 0},
		"a word is not greater": {"is": ["class", "greaterThan", "0"], "want": 2},
		"matches": {"is": ["class", "matches", "p[23]"], "want": 3},
		"missing": {"is": ["none", "notEquals", "x"], "want": 0},
	}
	filter := {"field": {"name": row.is[0]}, "operator": row.is[1], "value": row.is[2]}
	_value({"function": "count", "filter": filter}, _items) == row.want
}

test_filter_in if {
	filter := {"field": {"name": "class"}, "operator": "in", "value": "[gp2, 1]", "list": ["gp2", "1"]}
	_value({"function": "count", "filter": filter}, _items) == 3
}

test_allowed[note] if {
	some note, row in {
		"all": {"entry": {"include": [], "exclude": []}, "want": {"a": 1, "b": 2, "c": 3}},
		"included": {"entry": {"include": ["a", "x"], "exclude": []}, "want": {"a": 1}},
		"excluded": {"entry": {"include": [], "exclude": ["a", "x"]}, "want": {"b": 2, "c": 3}},
		"both": {"entry": {"include": ["a"], "exclude": ["a", "b"]}, "want": {"a": 1}},
		"no globs": {"entry": {"include": [], "exclude": ["*"]}, "want": {"a": 1, "b": 2, "c": 3}},
	}
	aggregations.allowed(row.entry, {"a": 1, "b": 2, "c": 3}) == row.want
}
