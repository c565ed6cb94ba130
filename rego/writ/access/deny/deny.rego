# METADATA
# description: |
#   Deny policies and pod security, judged before every grant. The rules of each
#   policy are generated, data.compiled.deny, and say which of them fit; here is
#   the order they are judged in, and what a pod's risk factors come to.
package writ.access.deny

import data.writ.access.pod

# METADATA
# description: |
#   The one pass over all policies: what denies first, and what was said of the
#   pod on the way. {"denied", "matched", "reason", "labelsUnknown",
#   "warnings", "pods", "podSecurity"}; the second to the fourth only where
#   something denies, podSecurity
#   only where a pod was evaluated; pods is what each policy made of it.
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

# Most requests are touched by no policy, and are answered at once.
_touched if some _ in data.compiled.deny.rules

_touched if some _ in _pods

# Rows are [precedence, name, stage, ...]: a policy's rules are stage 0 and its
# pod security is stage 1, so that the least row is what is judged first.
_first := min(_denials)

_denials contains row if some row in data.compiled.deny.rules

_denials contains row if {
	some row in _pods
	row[3].action == "deny"
}

_pods contains row if {
	not input[null].whoCan
	some row in data.compiled.deny.pods
}

# What follows the first denial is not judged.
_judged := [row | some row in _pods; not _later(row)]

_later(row) if row > _first

default _denied := {}

_denied := {"reason": _reason, "labelsUnknown": _labels_unknown, "matched": {
	"kind": "DenyPolicy",
	"namespace": "",
	"name": _first[1],
	"rule": _rule,
	"source": _source,
	"effect": "deny",
	"apiVersion": "breakglass.t-caas.telekom.com/v1alpha1",
}}

_rule := _first[3] if _first[2] == 0

_rule := 0 if _first[2] == 1

# A rule that fits only for want of the namespace's labels says so.
default _labels_unknown := false

_labels_unknown := _first[5] if _first[2] == 0

_source := _first[4] if _first[2] == 0

_source := _first[3].source if _first[2] == 1

_reason := sprintf("denied by DenyPolicy %s (pod security): %s", [_first[1], _first[3].text]) if {
	_first[2] == 1
} else := sprintf("denied by DenyPolicy %s, rule %d: namespace labels are unknown (fail-closed)", [_first[1], _first[3]]) if {
	_labels_unknown
} else := sprintf("denied by DenyPolicy %s, rule %d", [_first[1], _first[3]])

default _pod_security := {}

_pod_security := {"podSecurity": {
	"policy": shown[1],
	"action": shown[3].action,
	"score": shown[3].score,
	"factors": shown[3].factors,
}} if {
	shown := _shown
}

# Of several policies that evaluated the pod the one that denied is shown, else
# the first that warned, else the first an override settled, else the first.
_shown := _first if {
	_first[2] == 1
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
#   Whether a policy in scope would judge the pod behind the request.
# scope: document
default wants_pod := false

wants_pod if some _ in data.compiled.deny.pods

# METADATA
# description: |
#   What one policy makes of the pod: {"action", "source"} and, where it was
#   evaluated, score and factors; a text to deny with, a warning to pass with,
#   whether an override settled it. policy is what the document says; exempt
#   whether its exemptions fit; points what each present factor adds.
judge(policy, exempt, points) := object.union({"source": policy.source}, _judgement(policy, exempt, points))

_judgement(policy, _, _) := {
	"action": "deny",
	"text": concat("", ["pod spec unavailable (fail-closed)", _pod_error]),
} if {
	pod.unavailable
	not policy.failOpen
} else := {
	"action": "allow",
	"warning": concat("", [policy.name, ": pod spec unavailable, not evaluated (fail-open)", _pod_error]),
} if {
	pod.unavailable
}

_judgement(_, exempt, _) := {"action": "allow"} if {
	not pod.unavailable
	exempt
}

_judgement(policy, exempt, points) := object.union(
	{"score": score, "factors": factors},
	_settled(policy, score, factors),
) if {
	not pod.unavailable
	not exempt
	score := sum([added | some added in points])
	factors := _in_order(points)
}

_pod_error := sprintf(": %s", [input.podError]) if {
	input.podError != ""
} else := ""

_before := ["hostNetwork", "hostPID", "hostIPC", "privilegedContainer", "runAsRoot"]

_after := ["hostPathWritable", "hostPathReadOnly"]

_in_order(points) := [factor |
	capabilities := sort([name | some name, _ in points; startswith(name, "capability:")])
	some factor in array.concat(array.concat(_before, capabilities), _after)
	factor in object.keys(points)
]

# A block factor denies whatever the score; then an override may settle it; then
# the first threshold that reaches the score.
_settled(policy, score, factors) := {"action": "deny", "text": sprintf("blocked factor detected: %s", [blocking[0]])} if {
	blocking := [factor | some factor in policy.block; factor in factors; not factor in _lifted]
	count(blocking) > 0
} else := {"action": "allow", "override": true} if {
	some override in data.compiled.escalations.overrides
	_allows(override, score)
} else := _crossed(policy, reached[0], score, factors) if {
	reached := [threshold | some threshold in policy.thresholds; score <= threshold.maxScore]
	count(reached) > 0
} else := {"action": "deny", "text": sprintf("risk score %d exceeds all thresholds", [score])}

_crossed(_, threshold, _, _) := {"action": "allow"} if threshold.action == "allow"

_crossed(policy, threshold, score, factors) := {
	"action": "warn",
	"warning": sprintf("%s: %s", [policy.name, _text(
		threshold, score, factors,
		sprintf("risk score %d triggered the warning threshold", [score]),
	)]),
} if {
	threshold.action == "warn"
}

_crossed(_, threshold, score, factors) := {
	"action": "deny",
	"text": _text(threshold, score, factors, sprintf("risk score %d exceeds threshold", [score])),
} if {
	threshold.action == "deny"
}

_text(threshold, score, factors, otherwise) := concat("", [text |
	some part in threshold.reason
	text := _part(part, score, factors)
]) if {
	threshold.reason
} else := otherwise

# A value goes in as it is, and is not looked at again for placeholders.
_part(part, _, _) := part.text if part.text

_part(part, score, _) := sprintf("%d", [score]) if part.variable == "score"

_part(part, _, factors) := concat(", ", factors) if part.variable == "factors"

_part(part, _, _) := _pod_name if part.variable == "pod"

_part(part, _, _) := input.namespace if part.variable == "namespace"

_pod_name := input.name if {
	input.name != ""
} else := name if {
	name := input.pod.metadata.name
	is_string(name)
} else := ""

_lifted contains factor if {
	some override in data.compiled.escalations.overrides
	some factor in _exempted(override)
}

# Functions, whose arguments have no type: where no override of a directory says
# one of the two, looking for it would be a type error.
_allows(override, score) if score <= override.maxAllowedScore

_exempted(override) := override.exemptFactors
