# METADATA
# description: |
#   The gateway point: which path a request takes, which effective policy is in
#   force there, and whether it lets the request through. Effective policies are
#   computed when documents are compiled and generated into
#   data.compiled.gateway.effective.
package writ.gateway

import data.compiled.gateway
import data.writ.gateway.request
import data.writ.gateway.routing
import data.writ.gateway.verdict
import data.writ.tables

# METADATA
# description: The answer for one request. Always defined.
# entrypoint: true
# scope: document
decision := {"error": {"code": "invalid_request", "message": request.problem}}

decision := {"error": routing.problem} if {
	not request.problem
	not _broken
}

decision := _answer if {
	not request.problem
	not _broken
	not routing.problem
}

decision := _failed(_broken) if not request.problem

# The embedded engine has the tables itself.
_broken := tables.gateway if not input[null]

_failed(cause) := {
	"allowed": false,
	"denied": true,
	"status": 500,
	"reason": tables.reason(cause),
	"warnings": [],
	"policies": [],
	"rules": {},
	"matched": [],
	"decidedBy": [],
	"response": {"code": 500, "message": "", "headers": {}, "body": ""},
	"headers": {},
	"metadata": {},
}

_answer := {
	"allowed": false,
	"denied": false,
	"status": 404,
	"reason": "no path: no listener and route of the gateway take this request",
	"warnings": [],
	"policies": [],
	"rules": {},
	"matched": [],
	"decidedBy": [routing.place],
	"headers": {},
	"metadata": {},
} if {
	count(routing.paths) == 0
}

_answer := object.union(_deciding[0], {
	"warnings": _conflict,
	"matched": [rule | some each in _deciding; some rule in each.matched],
	"decidedBy": [place | some each in _deciding; some place in each.decidedBy],
}) if {
	count(_verdicts) == count(routing.paths)
}

_answer := _failed("the bundle lacks the policy of a path") if count(_verdicts) < count(routing.paths)

_verdicts := [verdict.of(path) | some path in routing.paths]

# Several paths decide together: all must allow.
_deciding := _refusals if {
	count(_refusals) > 0
} else := _verdicts

_refusals := [each | some each in _verdicts; not each.allowed]

_conflict := [sprintf("route-conflict: %s", [concat(", ", routes)])] if {
	count(routing.paths) > 1
	routes := [split(path.route, "#")[0] | some path in routing.paths]
} else := []

# METADATA
# description: |
#   What the embedded engine queries: the decision, the access requests that it
#   depends on and that have no answer yet, each with the text its answer is kept
#   under, and the targets of all paths that decide.
judgement := [decision, _unanswered, _targets]

_unanswered contains [text, review] if {
	not request.problem
	not routing.problem
	some path in routing.paths
	some review in gateway.effective[path.policy].reviews
	text := json.marshal(review)
	not text in object.keys(input[null].answers)
}

default _targets := []

_targets := [object.remove(path, ["policy"]) | some path in routing.paths] if {
	not request.problem
	not routing.problem
}
