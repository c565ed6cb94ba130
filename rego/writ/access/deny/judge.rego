package writ.access.deny

import data.writ.access.pod

# METADATA
# description: |
#   The judgement of one policy on the pod: {"action", "source"} and, if the pod was
#   evaluated, score and factors; the text of a denial, the warning of an allowed
#   request, and whether an override decided. policy is the constant of the document,
#   exempt whether an exemption fits, points the score of each present factor.
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

# A block factor denies at any score. Otherwise an override may allow the pod, and
# otherwise the first threshold that reaches the score decides.
_settled(policy, score, factors) := {"action": "deny", "text": sprintf("blocked factor detected: %s", [blocking[0]])} if {
	blocking := [factor | some factor in policy.block; factor in factors; not factor in _lifted]
	count(blocking) > 0
} else := {"action": "allow", "override": true} if {
	some override in _overrides
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

# A value is inserted as it is; placeholders in it are not replaced.
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

# The override in force, in a list: that of the escalation that the request as sent names,
# else that of the owner of the first session of the user which has one.
_overrides := _engine.overrides if {
	_engine.overrides
} else := [override | some override in data.compiled.escalations.overrides] if {
	count(data.compiled.escalations.overrides) > 0
} else := array.slice([override | some session in _sessions; override := data.compiled.escalations.owned[session.owner]], 0, 1)

_lifted contains factor if {
	some override in _overrides
	some factor in _exempted(override)
}

# Functions, because their arguments have no type: a reference to a key that no
# override has would be a type error.
_allows(override, score) if score <= override.maxAllowedScore

_exempted(override) := override.exemptFactors
