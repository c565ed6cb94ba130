# METADATA
# description: |
#   The verdict of one path: the part of a decision that its effective policy determines.
package writ.gateway.verdict

import data.compiled.gateway
import data.writ.gateway.outcome

# METADATA
# description: |
#   The verdict of a path, with everything a decision has but warnings.
# scope: document
of(path) := object.union(_base(path), {
	"allowed": true,
	"denied": false,
	"status": 200,
	"reason": "no policy restricts this path",
}) if {
	path.policy == ""
}

of(path) := object.union_n([_base(path), {"policies": policy.policies}, _judged(policy)]) if {
	policy := gateway.effective[path.policy]
}

_base(path) := {
	"target": {"gateway": path.gateway, "route": path.route},
	"policies": [],
	"rules": {},
	"matched": [],
	"decidedBy": [gateway.places[path.route]],
	"headers": {},
	"metadata": {},
}

_judged(policy) := {
	"allowed": true,
	"denied": false,
	"status": 200,
	"reason": "the conditions of the policy do not hold for this request",
	"decidedBy": [policy.condition],
} if {
	not policy.applies
}

_judged(policy) := object.union(
	{
		"reason": "the request is not authenticated",
		"decidedBy": policy.authentication,
	},
	_denial(401, policy.unauthenticated),
) if {
	policy.applies
	not policy.identified
}

_judged(policy) := object.union(
	{
		"reason": sprintf("%s %s", [concat(", ", denied), _did(policy, denied)]),
		"rules": policy.outcomes,
		"matched": _matched(policy, outcome.denials),
		"decidedBy": _matched(policy, outcome.denials),
	},
	_denial(403, policy.unauthorized),
) if {
	policy.applies
	policy.identified
	denied := _keys(policy, outcome.denials)
	count(denied) > 0
}

_judged(policy) := object.union(_allowing(policy), {
	"allowed": true,
	"denied": false,
	"status": 200,
	"reason": _why_allowed(_keys(policy, {"allow"})),
	"rules": policy.outcomes,
	"matched": _matched(policy, {"allow"}),
	"headers": policy.headers,
	"metadata": policy.metadata,
}) if {
	policy.applies
	policy.identified
	count(_keys(policy, outcome.denials)) == 0
}

_keys(policy, words) := [rule.key | some rule in policy.rules; policy.outcomes[rule.key] in words]

_matched(policy, words) := [object.remove(rule, ["key"]) |
	some rule in policy.rules
	policy.outcomes[rule.key] in words
]

# What lets a request through: the rules that allow, else those that do not apply, else
# those that authenticate, else the rule of the route, as without a policy.
_allowing(policy) := {"decidedBy": _matched(policy, {"allow"})} if {
	count(_matched(policy, {"allow"})) > 0
} else := {"decidedBy": _matched(policy, {"skip"})} if {
	count(policy.rules) > 0
} else := {"decidedBy": policy.authentication} if {
	count(policy.authentication) > 0
} else := {}

_did(policy, keys) := "denied" if {
	every key in keys {
		policy.outcomes[key] == "deny"
	}
} else := "denied or failed"

_why_allowed(keys) := sprintf("allowed by %s", [concat(", ", keys)]) if {
	count(keys) > 0
} else := "authenticated, and no authorization rule applies"

_denial(status, response) := {
	"allowed": false,
	"denied": true,
	"status": code,
	"response": {
		"code": code,
		"message": object.get(response, "message", ""),
		"headers": object.get(response, "headers", {}),
		"body": object.get(response, "body", ""),
	},
} if {
	code := object.get(response, "code", status)
}
