# METADATA
# description: |
#   The access point: may this subject do this? Roles and bindings are data,
#   data.compiled.access. The embedded engine finds the rules that fit in a tree of
#   its own and sends them along; both ways give the same hits.
package writ.access

import data.writ.access.compact
import data.writ.access.deny
import data.writ.access.request
import data.writ.access.restrictions

# METADATA
# description: |
#   The answer for one request. Always defined: a request nothing covers is
#   answered, not left undefined, so a caller can tell "no" from "broken".
# entrypoint: true
# scope: document
decision := {"error": {"code": "invalid_request", "message": request.problem}}

decision := object.union(
	{
		"allowed": _effect == "allow",
		"denied": _effect == "deny",
		"reason": _reason,
		"warnings": array.concat(_stopped.warnings, _warnings),
		"matched": matched,
	},
	_pod_security,
) if {
	not request.problem
	not _stopped.denied
}

# Deny policies are judged before every grant, and what they deny is not looked at
# further.
decision := object.union(
	{
		"allowed": false,
		"denied": true,
		"reason": _stopped.reason,
		"warnings": _stopped.warnings,
		"matched": [_stopped.matched],
	},
	_pod_security,
) if {
	not request.problem
	_stopped.denied
}

_stopped := outcome if {
	outcome := deny.outcome with input as request.canonical
}

_pod_security := {"podSecurity": security} if {
	security := _stopped.podSecurity
} else := {}

# METADATA
# description: |
#   What the engine writes the decision from: the positions of the hits that
#   hold, what could not be decided, and what deny policies say.
findings := [_positions, _undecided, deny.outcome]

# METADATA
# description: The same where the documents have no deny policy to ask.
grants := [_positions, _undecided, {"denied": false, "warnings": [], "pods": []}]

_positions := [position | some position, hit in _hits; _holds(hit[2])]

_decisive := [hit | some hit in _hits; _holds(hit[2])]

# A hit is [binding, role, rule]: a rule that fits the request by its lists,
# joined with a binding that applies it. The engine's come under the key null,
# which no JSON request can hold.
_hits := input[null].hits

_hits := compact.hits if not input[null]

# METADATA
# description: |
#   Every rule of a role that matched and holds, the decisive one first. A deny
#   policy that stops the request is not among them.
matched := [row[6] | some row in _rows]

# Sorting arrays sorts by step, kind, namespace, name and rule; the apiVersion
# tells two bindings of one name apart. A set drops what is reached twice.
_rows contains [
	_step(binding, rule),
	binding.kind,
	binding.namespace,
	binding.name,
	rule.rule,
	binding.apiVersion,
	{
		"kind": binding.kind,
		"namespace": binding.namespace,
		"name": binding.name,
		"rule": rule.rule,
		"source": rule.source,
		"effect": _rule_effect(rule),
		"apiVersion": binding.apiVersion,
		"role": {"kind": role.kind, "namespace": role.namespace, "name": role.name},
	},
] if {
	some [binding, role, rule] in _decisive
}

_holds(rule) if not rule.restrictions

_holds(rule) if restrictions.judge(rule.restrictions).verdict == "true"

# A denial must not be escaped by leaving something out.
_holds(rule) if {
	rule.deny
	restrictions.judge(rule.restrictions).verdict == "unknown"
}

_rule_effect(rule) := "deny" if {
	rule.deny
} else := "allow"

# The order over all families: what holds for the cluster goes before what holds
# in a namespace, and on one level deny goes before allow.
_step(binding, rule) := 3 if {
	binding.cluster
	rule.deny
} else := 4 if {
	binding.cluster
} else := 5 if {
	rule.deny
} else := 6

default _effect := "none"

_effect := matched[0].effect

_warnings := sort({text | some text in _undecided})

_undecided := [text |
	some [binding, _, rule] in _hits
	rule.restrictions
	some name, what in restrictions.judge(rule.restrictions).missing
	text := sprintf("%s %s rule %d: %s undecidable: %s is not known", [
		binding.kind,
		_full_name(binding),
		rule.rule,
		name,
		what,
	])
]

_reason := sprintf("not allowed: no rule allows %s", [_asked]) if {
	_effect == "none"
} else := sprintf("allowed by %s", [_by(matched[0])]) if {
	_effect == "allow"
} else := sprintf("denied by %s; would be allowed by %s", [_by(matched[0]), _by(_allows[0])]) if {
	count(_allows) > 0
} else := sprintf("denied by %s", [_by(matched[0])])

_allows := [entry | some entry in matched; entry.effect == "allow"]

_by(entry) := sprintf("%s %s (%s %s, rule %d)", [
	entry.kind,
	_full_name(entry),
	entry.role.kind,
	_full_name(entry.role),
	entry.rule,
])

_full_name(named) := named.name if {
	named.namespace == ""
} else := sprintf("%s/%s", [named.namespace, named.name])

_asked := sprintf("%s %s", [request.canonical.verb, request.canonical.path]) if {
	request.canonical.path != ""
} else := sprintf("%s %s at cluster scope", [request.canonical.verb, request.full_resource]) if {
	request.canonical.namespace == ""
} else := sprintf("%s %s in %s", [request.canonical.verb, request.full_resource, request.canonical.namespace])
