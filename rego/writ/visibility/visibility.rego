# METADATA
# description: |
#   The visibility point: what may this principal see of this cluster? Policies
#   are generated rules, data.compiled.visibility, found by subject. The embedded
#   engine asks for the authorization, filters items by tables of its own and
#   asks for the totals of those that are left.
package writ.visibility

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

decision := object.union_n([authorization, {"visible": visible}, totals]) if {
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

_source := data.compiled.visibility.metric_sources[request.type]

# METADATA
# description: |
#   Aggregations and metrics. The embedded engine says under the key null which
#   rule of which policy decided and which items are left, {"policy", "rule",
#   "items"}.
totals := {"aggregations": _aggregations, "metrics": _metrics}

# Not generated for policies that never hold: what is not found gives no numbers.
_deciding := _rule_of(data.compiled.visibility.packages[input[null].policy], input[null].rule) if input[null]

_deciding := _rule if {
	not input[null]
	_verdict.granted
}

default _aggregations := {}

_aggregations := aggregations.let_through(entry, values) if {
	request.custom
	request.cluster != ""
	"viewMetrics" in _deciding.permissions
	entry := _entry(_deciding)
	values := _values(entry)
}

_values(entry) := request.aggregations if {
	_raw(entry)
} else := aggregations.computed(_source, _seen) if {
	_source.aggregations
} else := {}

_raw(_) if object.get(_source, "filterAggregations", true) == false

_raw(entry) if {
	not entry.restricts
	count(request.aggregations) > 0
}

_seen := input[null].items if input[null]

_seen := [request.items[index] | some index in visible] if {
	not input[null]
	request.items
}

default _metrics := {}

_metrics := metrics.seen(_deciding.entries, request.metrics) if {
	not request.custom
	"viewMetrics" in _deciding.permissions
}
