package writ.visibility

import data.writ.visibility.request

# METADATA
# description: The answer but for items and numbers.
# scope: document
authorization := {
	"decision": "deny",
	"permissions": [],
	"policy": _policy_name,
	"reason": _verdict.reason,
	"filters": {},
	"matched": _matched,
} if {
	not _verdict.granted
}

authorization := {
	"decision": {true: "partial", false: "allow"}[_restricted],
	"permissions": _rule.permissions,
	"policy": _policy_name,
	"reason": sprintf("Allowed by policy %s", [_policy_name]),
	"filters": _filters,
	"matched": _matched,
} if {
	_verdict.granted
}

default _policy_name := ""

_policy_name := _rule.matched.name

default _matched := []

_matched := [_rule.matched]

# A verdict is {"granted", "reason", "package", "rule"}: the last two say which
# rule of which policy decided, where one did.
_verdict := _refused("no principal") if {
	not request.has_principal
} else := _refused(sprintf("unknown action %s", [request.action])) if {
	not request.permission
} else := _custom if {
	request.custom
} else := _cluster(request.permission)

_refused(reason) := {"granted": false, "reason": reason}

_denied([row, rule]) := {
	"granted": false,
	"reason": sprintf("Denied by policy %s", [row[2]]),
	"package": row[3],
	"rule": rule,
}

# The first policy that grants decides alone, also where it lacks the action.
_granted([row, rule], action) := {"granted": true, "package": row[3], "rule": rule} if {
	action in _rule_of(row[3], rule).permissions
} else := {
	"granted": false,
	"reason": sprintf("Policy %s does not permit %s", [row[2], action]),
	"package": row[3],
	"rule": rule,
}

# The decision for the cluster itself and the standard types.
_cluster(action) := _refused("no cluster given") if {
	request.cluster == ""
} else := _denied(first) if {
	first := min(_denials)
} else := _granted(first, action) if {
	first := min(_allowances)
} else := _refused("No matching policies found")

# The decision for a custom type.
_custom := object.union(verdict, {"reason": reason}) if {
	request.cluster != ""
	verdict := _cluster("view")
	not verdict.granted
	reason := sprintf("Access denied to cluster '%s': %s", [request.cluster, verdict.reason])
} else := _denied(first) if {
	request.cluster == ""
	first := min(_type_denials)
} else := _granted(first, request.permission) if {
	first := min(_type_allowances)
} else := _refused(sprintf("No policy grants access to custom resource type: %s", [request.type]))

# The policies of the principal that hold and match, each with the rule it matches
# by. Rows begin with priority, namespace and name, so the least is the first.
_denials contains [row, rule] if {
	some subject in request.subjects
	some row in data.compiled.visibility.denies[subject]
	rule := _applies(row)
}

_allowances contains [row, rule] if {
	some subject in request.subjects
	some row in data.compiled.visibility.allows[subject]
	rule := _applies(row)
}

_type_denials contains [row, rule] if {
	some subject in request.subjects
	some row in data.compiled.visibility.denies[subject]
	rule := _lists(row)
}

_type_allowances contains [row, rule] if {
	request.cluster != ""
	some [row, rule] in _allowances
	_entry(_rule_of(row[3], rule)).visibility != "none"
}

_type_allowances contains [row, rule] if {
	request.cluster == ""
	some subject in request.subjects
	some row in data.compiled.visibility.allows[subject]
	data.compiled.visibility.policies[row[3]].holds
	rule := _value(data.compiled.visibility.policies[row[3]].listed, request.type)
}

# The number of a policy's rule for the cluster: the first that matches, else its
# default.
_applies(row) := min(data.compiled.visibility.policies[row[3]].clusters) if {
	data.compiled.visibility.policies[row[3]].holds
} else := -1 if {
	row[4]
	data.compiled.visibility.policies[row[3]].holds
}

# The same for a type, whatever the cluster.
_lists(row) := _value(data.compiled.visibility.policies[row[3]].listed, request.type) if {
	data.compiled.visibility.policies[row[3]].holds
} else := -1 if {
	row[4]
	data.compiled.visibility.policies[row[3]].holds
}

_rule_of(name, rule) := data.compiled.visibility.policies[name].rules[rule]

_rule := _rule_of(_verdict["package"], _verdict.rule)

# Arguments have no type: read directly, what no policy of a bundle has would be
# a type error.
_value(holder, key) := holder[key]

_entry(rule) := rule.entries[request.type]

_restricted := _entry(_rule).restricts if {
	request.custom
} else := _rule.partial

default _filters := {}

_filters := _rule.filters if not request.custom

_filters := {request.type: _entry(_rule).filter} if {
	request.custom
	_restricted
}
