# METADATA
# description: |
#   Deny policies and pod security, evaluated before every grant. The rules of each
#   policy are generated, data.compiled.deny, and return the rows that fit the
#   request. This package orders the rows and judges the risk factors of a pod.
# schemas:
#   - input: schema.access
package writ.access.deny

import data.writ.access.dates

# METADATA
# description: |
#   The outcome of all policies: the first denial, and the judgements of the pod
#   up to it. {"denied", "matched", "reason", "labelsUnknown",
#   "warnings", "pods", "podSecurity"}. The second to the fourth are there only
#   if a policy denies, podSecurity only if a pod was evaluated. pods are the
#   judgements of the policies.
# scope: document
outcome := {"denied": false, "warnings": [], "pods": []} if not _touched

outcome := object.union(
	{
		"denied": count(_denials) > 0,
		"warnings": [row[3].warning | some row in _judged; row[3].warning],
		"pods": [object.union({"policy": row[1]}, row[3]) | some row in _judged],
	},
	object.union(_denied, _pod_security),
) if {
	_touched
}

# No policy fits most requests, and their outcome needs no further evaluation.
_touched if some _ in data.compiled.deny.rules

_touched if {
	some other in _others
	some _ in data.compiled.deny.rules with input as other
}

_touched if some _ in _pods

# Rows are [precedence, name, stage, ...]: a policy's rules are stage 0, its
# impersonation rules stage 1 and its pod security stage 2, so the least row is the
# first to decide.
_first := min(_denials)

_denials contains row if some row in data.compiled.deny.rules

_denials contains row if {
	some other in _others
	some row in data.compiled.deny.rules with input as other
}

_denials contains row if {
	some row in _pods
	row[3].action == "deny"
}

_pods contains row if {
	not _engine.whoCan
	some row in data.compiled.deny.pods
}

# Pod security does not read the verb.
_pods contains row if {
	not _engine.whoCan
	some other in _others
	other.verb == input.verb
	some row in data.compiled.deny.pods with input as other
}

# METADATA
# description: |
#   What the embedded engine adds to a request, its other forms among it: under the key
#   null, which no JSON request can have.
# schemas:
#   - input: {}
_engine := input[null]

# The request in its other forms, and under the name of each session of its user and of
# the escalation that owns the session.
_others := [object.union_n([input, scope, form, {null: {"overrides": _overrides}}]) |
	some i, scope in _scopes
	some j, form in _forms
	i + j > 0
]

_scopes := array.concat([{}], [{"session": session.name, "escalation": object.get(session, "owner", "")} | some session in _sessions])

_forms := array.concat([{}], [{"verb": form[0], "subresource": form[1], "resource": form[2]} | some form in _engine.forms])

_sessions := object.get(_engine, "sessions", [])

# METADATA
# description: The policies that sessions of the user attach, whatever their scope.
attached contains policy if {
	some session in _sessions
	some policy in session.policies
}

# Rows after the first denial are not reported.
_judged := [row | some row in _pods; not _later(row)]

_later(row) if row > _first

default _denied := {}

_denied := {"reason": _reason, "labelsUnknown": _labels_unknown, "matched": object.union(
	{
		"kind": "DenyPolicy",
		"namespace": "",
		"name": _first[1],
		"rule": _rule,
		"source": _source,
		"effect": "deny",
		"apiVersion": "breakglass.t-caas.telekom.com/v1alpha1",
	},
	_until,
)}

# When the policy ends, for one that does.
default _until := {}

_until := {"until": dates.text(data.compiled.deny.until[_first[1]])}

_rule := _first[3] if _first[2] != 2

_rule := 0 if _first[2] == 2

# The element after the source of a rule states that the rule fits only because the
# labels of the namespace are unknown.
default _labels_unknown := false

_labels_unknown := _first[5] if _first[2] != 2

_source := _first[4] if _first[2] != 2

_source := _first[3].source if _first[2] == 2

_reason := sprintf("denied by DenyPolicy %s (pod security)%s: %s", [_first[1], dates.until(_until), _first[3].text]) if {
	_first[2] == 2
} else := concat("", [
	sprintf("denied by DenyPolicy %s, %s %d", [_first[1], ["rule", "impersonation rule"][_first[2]], _first[3]]),
	dates.until(_until),
	_own_reason,
	_unknown_text,
])

default _own_reason := ""

_own_reason := sprintf(": %s", [_first[6]]) if {
	_first[2] == 1
	_first[6] != ""
}

default _unknown_text := ""

_unknown_text := ": namespace labels are unknown (fail-closed)" if _labels_unknown

default _pod_security := {}

_pod_security := {"podSecurity": {
	"policy": shown[1],
	"action": shown[3].action,
	"score": shown[3].score,
	"factors": shown[3].factors,
}} if {
	shown := _shown
}

# If several policies evaluated the pod, the decision shows the one that denied,
# else the first that warned, else the first with an override, else the first.
_shown := _first if {
	_first[2] == 2
	_first[3].factors
} else := _evaluated("warning")[0] if {
	count(_denials) == 0
} else := _evaluated("override")[0] if {
	count(_denials) == 0
} else := _evaluated("factors")[0] if {
	count(_denials) == 0
}

_evaluated(key) := [row | some row in _judged; row[3].factors; row[3][key]]

# METADATA
# description: |
#   True if a policy in scope judges the pod of the request.
# scope: document
default wants_pod := false

wants_pod if some _ in _pods
