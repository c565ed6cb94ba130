package writ.visibility

import data.compiled.visibility_tables as tables
import data.writ.visibility.request

# METADATA
# description: The decision without visible items, aggregations and metrics.
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

_policy_name := tables.policies[_verdict.policy].name

default _matched := []

_matched := [{
	"kind": "MonitorAccessPolicy",
	"namespace": tables.policies[_verdict.policy].namespace,
	"name": _policy_name,
	"rule": _verdict.rule,
	"source": _rule.source,
}]

# A verdict is {"granted", "reason", "policy", "rule"}: policy is the index of the policy
# that decided, and rule the index of its rule, -1 for its default.
_verdict := _refused("no principal") if {
	not request.has_principal
} else := _refused(sprintf("unknown action %s", [request.action])) if {
	not request.permission
} else := _custom if {
	request.custom
} else := _cluster(request.permission)

_refused(reason) := {"granted": false, "reason": reason}

_denied([policy, rule]) := {
	"granted": false,
	"reason": sprintf("Denied by policy %s", [tables.policies[policy].name]),
	"policy": policy,
	"rule": rule,
}

# The first policy that grants decides alone, even if it lacks the action.
_granted([policy, rule], action) := {"granted": true, "policy": policy, "rule": rule} if {
	action in _rule_of(policy, rule).permissions
} else := {
	"granted": false,
	"reason": sprintf("Policy %s does not permit %s", [tables.policies[policy].name, action]),
	"policy": policy,
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

# METADATA
# description: |
#   Why a policy of the principal may be lost: the tables list it and do not have it.
#   Undefined for complete tables.
dangling := sprintf("the bundle lacks visibility policy %d", [min(_dangling)])

_dangling contains policy if {
	some subject in request.subjects
	some policy in array.concat(object.get(tables.allows, subject, []), object.get(tables.denies, subject, []))
	not tables.policies[policy].module
}

# The active policies of the principal that select the cluster, each with the rule that
# selects it. Policies are in the order of evaluation, so the least index is the first.
_denials contains [policy, rule] if {
	some subject in request.subjects
	some policy in tables.denies[subject]
	module := tables.policies[policy].module
	data.compiled.visibility.policies[module].holds
	rule := _selecting(policy, module)
}

_allowances contains [policy, rule] if {
	some subject in request.subjects
	some policy in tables.allows[subject]
	module := tables.policies[policy].module
	data.compiled.visibility.policies[module].holds
	rule := _selecting(policy, module)
}

_type_denials contains [policy, rule] if {
	some subject in request.subjects
	some policy in tables.denies[subject]
	data.compiled.visibility.policies[tables.policies[policy].module].holds
	rule := _listing_or_default(policy)
}

_type_allowances contains [policy, rule] if {
	request.cluster != ""
	some [policy, rule] in _allowances
	_entry(_rule_of(policy, rule)).visibility != "none"
}

_type_allowances contains [policy, rule] if {
	request.cluster == ""
	some subject in request.subjects
	some policy in tables.allows[subject]
	data.compiled.visibility.policies[tables.policies[policy].module].holds
	rule := _listing(policy)
}

# The rule of the policy for the cluster: the first rule that selects it, else the
# default.
_selecting(policy, module) := min(data.compiled.visibility.policies[module].clusters) if {
	policy >= 0
} else := -1 if tables.policies[policy].byDefault

_listing_or_default(policy) := _listing(policy) if {
	policy >= 0
} else := -1 if tables.policies[policy].byDefault

# The first rule of the policy for the type on any cluster.
_listing(policy) := tables.policies[policy].listed[request.type]

_rule_of(policy, rule) := tables.policies[policy].rules[rule] if {
	rule >= 0
} else := tables.policies[policy].byDefault

_rule := _rule_of(_verdict.policy, _verdict.rule)

_entry(rule) := rule.entries[request.type]

default _restricted := false

_restricted if count(_filters) > 0

default _filters := {}

_filters := {type: entry.filter | some type, entry in _rule.entries; not entry.custom} if not request.custom

_filters := {request.type: _entry(_rule).filter} if request.custom
