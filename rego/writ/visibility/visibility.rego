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

decision := object.union_n([object.remove(authorization, ["basis"]), {"visible": visible}, totals]) if {
	not request.problem
}

# METADATA
# description: |
#   The answer but for items and numbers. basis is the deciding policy's key and
#   rule, {"policy", "rule"}; {} where nothing is granted.
# scope: document
authorization := {
	"decision": "deny",
	"permissions": [],
	"policy": _policy_name,
	"reason": _verdict.reason,
	"filters": {},
	"matched": _matched,
	"basis": {},
} if {
	not _verdict.granted
}

authorization := {
	"decision": {true: "partial", false: "allow"}[_restricted],
	"permissions": _permissions(_rule),
	"policy": _policy_name,
	"reason": sprintf("Allowed by policy %s", [_policy_name]),
	"filters": _filters,
	"matched": _matched,
	"basis": {"policy": _verdict.key, "rule": _verdict.rule},
} if {
	_verdict.granted
}

default _policy_name := ""

_policy_name := _rule.matched.name

default _matched := []

_matched := [_rule.matched]

# A verdict is {"granted", "reason", "key", "rule"}: the last two say which rule of
# which policy decided, where one did.
_verdict := _refused("no principal") if {
	not request.has_principal
} else := _refused(sprintf("unknown action %s", [request.action])) if {
	not request.permission
} else := _custom if {
	request.custom
} else := _cluster(request.permission)

_refused(reason) := {"granted": false, "reason": reason}

_denied(row, rule) := {
	"granted": false,
	"reason": sprintf("Denied by policy %s", [row[2]]),
	"key": row[3],
	"rule": rule,
}

# Policies that grant decide alone, also where they lack the action.
_granted(row, rule, action) := {"granted": true, "key": row[3], "rule": rule} if {
	action in _permissions(_rule_of(row[3], rule))
} else := {
	"granted": false,
	"reason": sprintf("Policy %s does not permit %s", [row[2], action]),
	"key": row[3],
	"rule": rule,
}

# The decision for the cluster itself and the standard types.
_cluster(action) := _refused("no cluster given") if {
	request.cluster == ""
} else := _denied(row, rule) if {
	[row, rule] := [[row, rule] | some row in _denies; rule := _applies(row[3])][0]
} else := _granted(row, rule, action) if {
	[row, rule] := [[row, rule] | some row in _allows; rule := _applies(row[3])][0]
} else := _refused("No matching policies found")

# The decision for a custom type.
_custom := object.union(verdict, {"reason": reason}) if {
	request.cluster != ""
	verdict := _cluster("view")
	not verdict.granted
	reason := sprintf("Access denied to cluster '%s': %s", [request.cluster, verdict.reason])
} else := _denied(row, rule) if {
	request.cluster == ""
	[row, rule] := [[row, rule] | some row in _denies; rule := _denies_type(row[3])][0]
} else := _granted(row, rule, request.permission) if {
	[row, rule] := [[row, rule] | some row in _allows; rule := _grants_type(row[3])][0]
} else := _refused(sprintf("No policy grants access to custom resource type: %s", [request.type]))

# The principal's policies that hold, as [priority, namespace, name, key]: sets are
# in the order of evaluation.
_denies := {row |
	some subject in request.subjects
	some row in data.compiled.visibility.denies[subject]
}

_allows := {row |
	some subject in request.subjects
	some row in data.compiled.visibility.allows[subject]
}

# The number of a policy's rule for the cluster: the first that matches, else its
# default.
_applies(key) := rule if {
	rule := min(data.compiled.visibility.clusters[key])
} else := -1 if _rule_of(key, -1)

_denies_type(key) := rule if {
	rule := _first_listing(key)
} else := -1 if _rule_of(key, -1)

_grants_type(key) := rule if {
	request.cluster == ""
	rule := _first_listing(key)
} else := rule if {
	request.cluster != ""
	rule := _applies(key)
	_entry(_rule_of(key, rule)).visibility != "none"
}

_first_listing(key) := _value(data.compiled.visibility.listed[key], request.type)

_rule_of(key, rule) := data.compiled.visibility.rules[key][rule]

_rule := _rule_of(_verdict.key, _verdict.rule)

# Arguments have no type: read directly, what no policy of a bundle has would be
# a type error.
_value(holder, key) := holder[key]

_permissions(rule) := rule.permissions

_entry(rule) := rule.entries[request.type]

_entries(rule) := rule.entries

_restricted := _entry(_rule).restricts if {
	request.custom
} else := _rule.partial

default _filters := {}

_filters := _rule.filters if not request.custom

_filters := {request.type: _entry(_rule).filter} if {
	request.custom
	_restricted
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
	items.standard(_entries(_rule), request.type, item)
}

default _source := {}

_source := data.compiled.visibility.metric_sources[request.type]

# METADATA
# description: |
#   Aggregations and metrics. The embedded engine says under the key null which
#   rule of which policy decided and which items are left, {"policy", "rule",
#   "items"}.
totals := {"aggregations": _aggregations, "metrics": _metrics}

_basis := input[null] if input[null]

_basis := authorization.basis if not input[null]

_deciding := _rule_of(_value(_basis, "policy"), _value(_basis, "rule"))

default _aggregations := {}

_aggregations := aggregations.let_through(entry, values) if {
	request.custom
	request.cluster != ""
	"viewMetrics" in _permissions(_deciding)
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

_metrics := metrics.seen(_entries(_deciding), request.metrics) if {
	not request.custom
	"viewMetrics" in _permissions(_deciding)
}
