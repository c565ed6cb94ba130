package writ.visibility.request

_texts := {"user", "action", "type"}

_keys := _texts | {"groups", "serviceAccount", "cluster", "items", "aggregations", "metrics"}

# METADATA
# description: |
#   The first problem of the input, as one sentence. Undefined for a valid request.
# scope: document
problem := "the request is not an object" if not is_object(input)

problem := sorted[0] if {
	is_object(input)
	sorted := sort(_problems)
	count(sorted) > 0
}

_problems contains sprintf("%v: unknown key", [key]) if {
	some key, _ in input
	not key in _keys
}

_problems contains sprintf("%s: must be a string", [key]) if {
	some key in _texts
	not _text_or_null(input, key)
}

_problems contains "groups: must be a list of strings" if {
	object.get(input, "groups", null) != null
	not _list_of_texts(input.groups)
}

_problems contains sprintf("%s: must be an object", [key]) if {
	some key in ["serviceAccount", "cluster", "aggregations", "metrics"]
	not _object_or_null(input, key)
}

_problems contains sprintf("%s.%s: must be a string", [key, part]) if {
	some [key, part] in [["serviceAccount", "namespace"], ["serviceAccount", "name"], ["cluster", "name"]]
	is_object(input[key])
	not _text_or_null(input[key], part)
}

_problems contains "cluster.labels: must be an object of strings" if {
	is_object(input.cluster)
	not _labels_or_null(input.cluster)
}

_problems contains "items: must be a list of objects" if {
	object.get(input, "items", null) != null
	not is_array(input.items)
}

_problems contains sprintf("items: item %d is not a valid item", [index]) if {
	is_array(input.items)
	some index, item in input.items
	not _is_item(item)
}

_problems contains sprintf("metrics.%s: must be an object", [part]) if {
	is_object(input.metrics)
	some part in ["totals", "byNamespace", "byNode"]
	not _object_or_null(input.metrics, part)
}

_problems contains sprintf("metrics.totals: %v must be a number", [metric]) if {
	some metric, number in _object(_metrics, "totals")
	not _null_or_number(number)
}

_problems contains sprintf("metrics.%s: %v is not a valid record", [part, name]) if {
	some part in ["byNamespace", "byNode"]
	some name, record in _object(_metrics, part)
	not _is_record(part, record)
}

_metrics := _object(input, "metrics")

# All other keys of a record are metrics.
_is_record("byNamespace", record) if {
	is_object(record)
	_labels_or_null(record)
	_numbers(object.remove(record, {"labels"}))
}

_is_record("byNode", record) if {
	is_object(record)
	_labels_or_null(record)
	_null_or_boolean(object.get(record, "ready", null))
	_null_or_texts(object.get(record, "roles", null))
	_numbers(object.remove(record, {"labels", "ready", "roles"}))
}

_numbers(values) if {
	every value in values {
		_null_or_number(value)
	}
}

_null_or_number(null)

_null_or_number(value) if is_number(value)

_null_or_boolean(null)

_null_or_boolean(value) if is_boolean(value)

_null_or_texts(null)

_null_or_texts(value) if _list_of_texts(value)

_is_item(item) if {
	is_object(item)
	_text_or_null(item, "name")
	_text_or_null(item, "namespace")
	_labels_or_null(item)
	_object_or_null(item, "fields")
}

_text_or_null(holder, key) if {
	value := object.get(holder, key, null)
	_null_or_text(value)
}

_null_or_text(null)

_null_or_text(value) if is_string(value)

_object_or_null(holder, key) if {
	value := object.get(holder, key, null)
	_null_or_object(value)
}

_null_or_object(null)

_null_or_object(value) if is_object(value)

_labels_or_null(holder) if {
	_object_or_null(holder, "labels")
	every value in _object(holder, "labels") {
		is_string(value)
	}
}

_list_of_texts(value) if {
	is_array(value)
	every entry in value {
		is_string(entry)
	}
}

_object(holder, key) := value if {
	value := holder[key]
	is_object(value)
} else := {}
