# METADATA
# description: |
#   The visibility point: what may this principal see of this cluster? The tables
#   data.compiled.visibility_tables list policies by subject. Generated rules below
#   data.compiled.visibility define when a policy is active and which clusters its rules
#   select. The embedded engine answers from the same tables without these rules.
package writ.visibility

import data.compiled.visibility_tables as tables
import data.writ.tables as bundle
import data.writ.visibility.aggregations
import data.writ.visibility.items
import data.writ.visibility.metrics
import data.writ.visibility.request

# METADATA
# description: |
#   The whole decision for one request. It is always defined, so that a caller can
#   distinguish a denial from a failure.
# entrypoint: true
# scope: document
decision := {"error": {"code": "invalid_request", "message": request.problem}}

decision := object.union_n([authorization, {"visible": visible, "aggregations": _aggregations, "metrics": _metrics}]) if {
	not request.problem
	not _broken
}

# Without its tables a bundle has lost denials.
decision := {
	"decision": "deny",
	"permissions": [],
	"policy": "",
	"reason": bundle.reason(_broken),
	"filters": {},
	"matched": [],
	"visible": [],
	"aggregations": {},
	"metrics": {},
} if {
	not request.problem
	_broken
}

_broken := bundle.visibility

_broken := dangling if not bundle.visibility

_broken := bundle.elsewhere(request.cluster) if {
	not bundle.visibility
	not dangling
}

# METADATA
# description: The ascending indexes of the visible items.
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

# Without a cluster, a custom type can be discovered, but none of its items is visible.
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
	_uses_request_aggregations
} else := aggregations.computed(_source, _visible_items) if {
	_source.aggregations
} else := {}

_uses_request_aggregations if object.get(_source, "filterAggregations", true) == false

_uses_request_aggregations if {
	not _restricted
	count(request.aggregations) > 0
}

_visible_items := [request.items[index] | some index in visible] if request.items

default _metrics := {}

_metrics := metrics.seen(_rule.entries, request.metrics) if {
	not request.custom
	_grants_metrics
}
