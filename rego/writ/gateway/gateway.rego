# METADATA
# description: |
#   The gateway point: which path a request takes, which effective policy is in
#   force there, and whether it lets the request through. Effective policies are
#   computed when documents are compiled and generated into
#   data.compiled.gateway.effective.
package writ.gateway

import data.compiled.gateway
import data.writ.gateway.outcome
import data.writ.gateway.request
import data.writ.gateway.routing

# METADATA
# description: The answer for one request. Always defined.
# entrypoint: true
# scope: document
decision := {"error": {"code": "invalid_request", "message": request.problem}}

decision := {"error": routing.problem} if not request.problem

decision := _answer if {
	not request.problem
	not routing.problem
}

default _answer := {
	"allowed": false,
	"denied": false,
	"status": 404,
	"reason": "no path: no listener and route of the gateway take this request",
	"warnings": [],
	"policies": [],
	"rules": {},
	"matched": [],
	"headers": {},
	"metadata": {},
}

_answer := object.union(
	{
		"target": {"gateway": routing.path.gateway, "route": routing.path.route},
		"warnings": [],
		"policies": [],
		"rules": {},
		"matched": [],
		"headers": {},
		"metadata": {},
	},
	_judged,
)

_judged := {"allowed": true, "denied": false, "status": 200, "reason": "no policy restricts this path"} if {
	routing.path.policy == ""
}

_judged := object.union({"policies": _policy.policies}, _verdict) if routing.path.policy != ""

_policy := gateway.effective[routing.path.policy]

_verdict := {
	"allowed": true,
	"denied": false,
	"status": 200,
	"reason": "the conditions of the policy do not hold for this request",
} if {
	not _policy.applies
}

_verdict := object.union(
	{"reason": "nobody was authenticated"},
	_denial(401, _policy.unauthenticated),
) if {
	_policy.applies
	not _policy.identified
}

_verdict := object.union(
	{
		"reason": sprintf("%s %s", [concat(", ", _denied), _did(_denied)]),
		"rules": _policy.outcomes,
		"matched": _matched(outcome.denials),
	},
	_denial(403, _policy.unauthorized),
) if {
	_policy.applies
	_policy.identified
	count(_denied) > 0
}

_verdict := {
	"allowed": true,
	"denied": false,
	"status": 200,
	"reason": _why_allowed,
	"rules": _policy.outcomes,
	"matched": _matched({"allow"}),
	"headers": _policy.headers,
	"metadata": _policy.metadata,
} if {
	_policy.applies
	_policy.identified
	count(_denied) == 0
}

_denied := [rule.key | some rule in _policy.rules; _policy.outcomes[rule.key] in outcome.denials]

_allowing := [rule.key | some rule in _policy.rules; _policy.outcomes[rule.key] == "allow"]

_did(keys) := "denied" if {
	every key in keys {
		_policy.outcomes[key] == "deny"
	}
} else := "denied or failed"

_why_allowed := sprintf("allowed by %s", [concat(", ", _allowing)]) if {
	count(_allowing) > 0
} else := "authenticated, and no authorization rule applies"

_matched(words) := [object.remove(rule, ["key"]) |
	some rule in _policy.rules
	_policy.outcomes[rule.key] in words
]

_denial(status, said) := {
	"allowed": false,
	"denied": true,
	"status": code,
	"response": {
		"code": code,
		"message": object.get(said, "message", ""),
		"headers": object.get(said, "headers", {}),
		"body": object.get(said, "body", ""),
	},
} if {
	code := object.get(said, "code", status)
}

# METADATA
# description: |
#   What the engine asks for: the decision, and the access requests that it turns on
#   and that are not answered yet, each with the text its answer is kept under.
judgement := [decision, _unanswered]

_unanswered contains [text, review] if {
	not request.problem
	some review in _policy.reviews
	text := json.marshal(review)
	not text in object.keys(input[null].answers)
}
