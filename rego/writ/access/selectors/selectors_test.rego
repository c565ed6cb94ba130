package writ.access.selectors_test

import data.writ.access.selectors

_list := {"user": "u", "verb": "list", "resource": "widgets"}

_gold := [{"key": "tier", "value": "gold"}]

_in(values) := {"key": "tier", "operator": "In", "values": values}

_not_in(values) := {"key": "tier", "operator": "NotIn", "values": values}

_exists := {"key": "tier", "operator": "Exists"}

_absent := {"key": "tier", "operator": "DoesNotExist", "values": null}

test_labels[note] if {
	some note, row in {
		"the value alone": {"selector": [_in(["gold"])], "want": "true"},
		"one value is left": {"selector": [_in(["gold", "silver"]), _not_in(["silver"])], "want": "true"},
		"there, with the value": {"selector": [_exists, _in(["gold"])], "want": "true"},
		"another value": {"selector": [_in(["silver"])], "want": "false"},
		"all other values": {"selector": [_not_in(["gold"])], "want": "false"},
		"not there": {"selector": [_absent], "want": "false"},
		"one of two values": {"selector": [_in(["gold", "silver"])], "want": "unknown"},
		"any value": {"selector": [_exists], "want": "unknown"},
		"not another value": {"selector": [_not_in(["silver"])], "want": "unknown"},
		"another key": {"selector": [{"key": "team", "operator": "In", "values": ["a"]}], "want": "unknown"},
		"no object": {"selector": [_in(["gold"]), _in(["silver"])], "want": "unknown"},
		"no object, by another key": {
			"selector": [_in(["gold"]), {"key": "a", "operator": "Exists"}, {"key": "a", "operator": "DoesNotExist"}],
			"want": "unknown",
		},
		"nothing asked": {"selector": [], "want": "unknown"},
		"no list": {"selector": {"a": _in(["gold"])}, "want": "unknown"},
		"an unknown operator": {"selector": [{"key": "tier", "operator": "in", "values": ["gold"]}], "want": "unknown"},
		"no values": {"selector": [_in([])], "want": "unknown"},
		"values that are not strings": {"selector": [_in([1])], "want": "unknown"},
		"values of Exists": {"selector": [object.union(_exists, {"values": ["gold"]})], "want": "unknown"},
		"dropped beside read": {"selector": [_in(["gold"]), {"key": ""}], "want": "true"},
	}
	selectors.labels(_gold) == row.want with input as object.union(_list, {"attributes": {"labelSelector": row.selector}})
}

test_labels_of_any_value if {
	every row in [[_exists, "true"], [_in(["", "x"]), "true"], [_absent, "false"], [_not_in(["x"]), "unknown"]] {
		selectors.labels([{"key": "tier"}]) == row[1] with input as object.union(_list, {"attributes": {"labelSelector": [row[0]]}})
	}
}

test_two_values_of_a_key if {
	entries := array.concat(_gold, [{"key": "tier", "value": "silver"}])
	selectors.labels(entries) == "false" with input as object.union(_list, {"attributes": {"labelSelector": [_exists]}})
	selectors.labels(entries) == "unknown" with input as _list
}

test_selectors_count[note] if {
	some note, row in {
		"watch": {"change": {"verb": "WATCH"}, "want": "true"},
		"deletecollection": {"change": {"verb": "deletecollection"}, "want": "true"},
		"get": {"change": {"verb": "get"}, "want": "unknown"},
		"any verb": {"change": {"verb": "*"}, "want": "unknown"},
		"a subresource": {"change": {"subresource": "status"}, "want": "unknown"},
	}
	attributes := {"attributes": {"labelSelector": [_in(["gold"])]}}
	selectors.labels(_gold) == row.want with input as object.union_n([_list, attributes, row.change])
}

test_fields[note] if {
	some note, row in {
		"selected": {"entry": ["type", "Opaque"], "change": {"attributes": {"fieldSelector": [{"key": "type", "operator": "In", "values": ["Opaque"]}]}}, "want": "true"},
		"an empty value": {"entry": ["type", ""], "change": {"attributes": {"fieldSelector": [{"key": "type", "operator": "NotIn", "values": [""]}]}}, "want": "false"},
		"no Exists": {"entry": ["type", ""], "change": {"attributes": {"fieldSelector": [{"key": "type", "operator": "DoesNotExist"}]}}, "want": "unknown"},
		"the name": {"entry": ["metadata.name", "a"], "change": {"verb": "get", "name": "a"}, "want": "true"},
		"another namespace": {"entry": ["metadata.namespace", "x"], "change": {"verb": "get", "namespace": "y"}, "want": "false"},
		"a field of a get": {"entry": ["type", "Opaque"], "change": {"verb": "get", "name": "a"}, "want": "unknown"},
	}
	entries := [{"key": row.entry[0], "value": row.entry[1]}]
	selectors.fields(entries) == row.want with input as object.union(_list, row.change)
}

test_what_is_undecided if {
	entries := array.concat(_gold, [{"key": "team"}])
	selectors.undecided_labels(entries) == "team" with input as object.union(_list, {"attributes": {"labelSelector": [_in(["gold"])]}})
	selectors.undecided_labels(entries) == "tier=gold,team" with input as object.union(_list, {"attributes": {"labelSelector": [_in(["a"]), _in(["b"])]}})
	not selectors.undecided_labels(entries) with input as _list
}
