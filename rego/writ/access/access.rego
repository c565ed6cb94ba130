# METADATA
# description: |
#   The access point: may this subject do this? Roles and bindings are data,
#   data.compiled.access. The embedded engine finds the matching rules in a tree of
#   its own and sends them with the request; both ways give the same hits.
package writ.access

import data.writ.access.compact
import data.writ.access.deny
import data.writ.access.reason
import data.writ.access.request
import data.writ.access.restrictions
import data.writ.access.sessions
import data.writ.tables

# METADATA
# description: |
#   The answer for one request. Always defined: a request that no rule covers is
#   answered, not left undefined, so a caller can distinguish "no" from "broken".
# entrypoint: true
# scope: document
decision := {"error": {"code": "invalid_request", "message": request.problem}}

# Without its tables a bundle has lost denials.
decision := {
	"allowed": false,
	"denied": true,
	"reason": tables.reason(_broken),
	"warnings": [],
	"matched": [],
} if {
	not request.problem
	_broken
}

# A session for debugging lets its participants into its pods before every denial.
decision := {
	"allowed": true,
	"denied": false,
	"reason": sessions.debug.reason,
	"warnings": sessions.warnings,
	"matched": [sessions.debug.matched],
} if {
	not request.problem
	not _broken
}

# Deny policies come before every grant. Rules are not read after a denial.
decision := object.union(
	{
		"allowed": false,
		"denied": true,
		"reason": _denial.reason,
		"warnings": array.concat(sessions.warnings, _denial.warnings),
		"matched": [_denial.matched],
	},
	_pod_security,
) if {
	not request.problem
	not _broken
	not sessions.debug
	_denial.denied
}

# The first of the matched rules decides. Without one, nothing allows the request.
decision := object.union(
	{
		"allowed": _effect == "allow",
		"denied": _effect == "deny",
		"reason": concat("", [reason.decided(matched), _sufficient]),
		"warnings": array.concat(sessions.warnings, array.concat(_denial.warnings, _warnings)),
		"matched": matched,
	},
	_pod_security,
) if {
	not request.problem
	not _broken
	not sessions.debug
	not _denial.denied
}

_broken := tables.access

_broken := compact.dangling if not tables.access

_broken := tables.elsewhere(request.canonical.cluster) if {
	not tables.access
	not compact.dangling
}

default _effect := "none"

_effect := matched[0].effect

# METADATA
# description: |
#   Every rule of a role that matches and holds, the decisive one first. A deny
#   policy that stops the request is not among them.
matched := [row[6] | some row in _rows]

# An array sorts by its first element, then the second: by step, kind, namespace,
# name and rule. The apiVersion tells two bindings of one name apart. A set drops
# what is reached twice.
_rows contains [
	_step(binding, rule),
	binding.kind,
	binding.namespace,
	binding.name,
	rule.rule,
	binding.apiVersion,
	object.union(
		{
			"kind": binding.kind,
			"namespace": binding.namespace,
			"name": binding.name,
			"rule": rule.rule,
			"source": rule.source,
			"effect": _rule_effect(rule),
			"apiVersion": binding.apiVersion,
			"role": {"kind": role.kind, "namespace": role.namespace, "name": role.name},
			"binding": {"source": binding.source},
		},
		object.union(sessions.end(binding), _implied(rule)),
	),
] if {
	some [binding, role, rule] in _hits
	_holds(rule)
}

# The order over all families: what holds for the cluster precedes what holds in a
# namespace, and on one level deny precedes allow.
_step(binding, rule) := 3 if {
	binding.cluster
	rule.deny
} else := 4 if {
	binding.cluster
} else := 5 if {
	rule.deny
} else := 6

_rule_effect(rule) := "deny" if {
	rule.deny
} else := "allow"

# A hit is [binding, role, rule]: a rule whose lists fit the request, joined with a
# binding that applies it. The hits of the engine are under the key null, which no
# JSON request can have.
_hits := input[null].hits

_hits := compact.hits if not input[null]

_holds(rule) if not rule.restrictions

_holds(rule) if restrictions.judge(rule.restrictions).verdict == "true"

# Leaving an attribute out of a request does not escape a denial.
_holds(rule) if {
	rule.deny
	restrictions.judge(rule.restrictions).verdict == "unknown"
}

_denial := outcome if {
	outcome := deny.outcome with input as object.union(request.canonical, {null: {"forms": request.forms, "sessions": sessions.valid}})
}

_pod_security := {"podSecurity": security} if {
	security := _denial.podSecurity
} else := {}

_warnings := sort({text | some text in _undecided})

_undecided := [reason.undecided(binding, rule, name, why) |
	some [binding, _, rule] in _hits
	rule.restrictions
	some name, why in restrictions.judge(rule.restrictions).missing
]

# METADATA
# description: |
#   What the engine composes the decision from: the positions of the hits that
#   hold, the undecided restrictions, the outcome of deny policies, the positions of the
#   hits that hold because of a selector, and what ends the reason.
findings := [_positions, _undecided, deny.outcome, _selected, _sufficient]

# METADATA
# description: The findings of a bundle without deny policies.
grants := [_positions, _undecided, {"denied": false, "warnings": [], "pods": []}, _selected, _sufficient]

_positions := [position | some position, hit in _hits; _holds(hit[2])]
