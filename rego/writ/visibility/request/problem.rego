package writ.visibility.request

import data.writ.shape

_texts := {"user", "action", "type"}

_objects := {"serviceAccount", "cluster", "aggregations", "metrics"}

# METADATA
# description: |
#   The first problem of the input, as one sentence. Undefined for a valid request.
#   Unknown keys come first, then values of a wrong type.
# scope: document
problem := shape.no_object

problem := shape.unknown_key(((_texts | _objects) | {"groups", "items"})) if not shape.no_object

problem := min(_mistyped) if {
	not shape.no_object
	not shape.unknown_key(((_texts | _objects) | {"groups", "items"}))
}

_mistyped contains shape.text(key, input[key]) if some key in _texts

_mistyped contains shape.texts("groups", input.groups)

_mistyped contains shape.object_of_any(key, input[key]) if some key in _objects

_mistyped contains shape.text(concat(".", [key, part]), value) if {
	some [key, part] in [["serviceAccount", "namespace"], ["serviceAccount", "name"], ["cluster", "name"]]
	value := _object(input, key)[part]
}

_mistyped contains shape.object_of_text("cluster.labels", _object(input, "cluster").labels)

_mistyped contains `key "items" must be a list of objects` if {
	input.items != null
	not is_array(input.items)
}

# The first invalid item, by its first problem.
_mistyped contains sprintf("item %d: %s", first) if {
	first := min([[index, problem] | some index, item in _items; problem := _item(item)])
}

_mistyped contains shape.object_of_any(concat(".", ["metrics", part]), member) if {
	some part in ["totals", "byNamespace", "byNode"]
	member := _metrics[part]
}

_mistyped contains sprintf("metrics.totals: %s", [problem]) if {
	some metric, value in _object(_metrics, "totals")
	problem := shape.number(metric, value)
}

_mistyped contains sprintf("metrics.%s: record %s: %s", [part, shape.quoted(name), problem]) if {
	some part in ["byNamespace", "byNode"]
	some name, record in _object(_metrics, part)
	problem := _record(part, record)
}

_items := input.items if is_array(input.items)

_metrics := _object(input, "metrics")

_item(item) := "the item is not a JSON object" if not is_object(item)

_item(item) := min(problems) if {
	is_object(item)
	problems := ({problem | some key in ["name", "namespace"]; problem := shape.text(key, item[key])} | {problem | problem := shape.object_of_text("labels", item.labels)}) | {problem | problem := shape.object_of_any("fields", item.fields)}
}

_record(_, record) := "it is not a JSON object" if not is_object(record)

# Keys that have no type of their own are metrics.
_record(part, record) := min(problems) if {
	is_object(record)
	typed := {"byNamespace": {"labels"}, "byNode": {"labels", "ready", "roles"}}[part]
	problems := (({problem | problem := shape.object_of_text("labels", record.labels)} | {problem | "roles" in typed; problem := shape.texts("roles", record.roles)}) | {problem | "ready" in typed; problem := shape.boolean("ready", record.ready)}) | {problem | some key, value in record; not key in typed; problem := shape.number(key, value)}
}

_object(holder, key) := value if {
	value := holder[key]
	is_object(value)
} else := {}
