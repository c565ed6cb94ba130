# METADATA
# description: |
#   The visibility point: what may this principal see of this cluster? Policies are
#   the tables data.compiled.visibility_tables, found by subject. When a policy holds
#   and which clusters its rules select is generated Rego, data.compiled.visibility.
#   The embedded engine queries the authorization and filters items by the same tables.
package writ.visibility

import data.compiled.visibility_tables as tables
import data.writ.visibility.aggregations
import data.writ.visibility.items
import data.writ.visibility.metrics
import data.writ.visibility.request

# METADATA
# description: |
#   The whole answer for one request. Always defined: a request nothing covers is
#   answered, not left undefined, so a caller can tell "no" from "broken".
# entrypoint: true
# scope: document
decision := {"error": {"code": "invalid_request", "message": request.problem}}

decision := object.union_n([authorization, {"visible": visible, "aggregations": _aggregations, "metrics": _metrics}]) if {
	not request.problem
}

# METADATA
# description: The ascending indexes of the items that may be seen.
# scope: document
default visible := []

visible := [index | some index, _ in request.items] if {
	_lists_items
	authorization.decision == "allow"
}

visible := [index |
	some index, item in request.items
	_shows(item)
] if {
	_lists_items
	authorization.decision == "partial"
}

# Without a cluster a custom type can be discovered, and nothing of it be seen.
_lists_items if {
	request.type != ""
	not request.custom
}

_lists_items if {
	request.custom
	request.cluster != ""
}

_shows(item) if {
	request.custom
	items.custom(_entry(_rule), _source, item)
}

_shows(item) if {
	not request.custom
	items.standard(_rule.entries, request.type, item)
}

default _source := {}

_source := tables.sources[tables.types[request.type]]

default _aggregations := {}

_aggregations := aggregations.allowed(_entry(_rule), _values) if {
	request.custom
	request.cluster != ""
	_grants_metrics
}

_grants_metrics if {
	_verdict.granted
	"viewMetrics" in _rule.permissions
}

_values := request.aggregations if {
	_as_given
} else := aggregations.computed(_source, _seen) if {
	_source.aggregations
} else := {}

_as_given if object.get(_source, "filterAggregations", true) == false

_as_given if {
	not _restricted
	count(request.aggregations) > 0
}

_seen := [request.items[index] | some index in visible] if request.items

default _metrics := {}

_metrics := metrics.seen(_rule.entries, request.metrics) if {
	not request.custom
	_grants_metrics
}
