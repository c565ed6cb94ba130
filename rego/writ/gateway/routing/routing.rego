# METADATA
# description: |
#   Which paths decide a request: the listener by its hostname, then the route and
#   rule by the Gateway API's precedence. Listeners and, for each hostname, matches
#   in that precedence are generated into data.compiled.gateway.
# schemas:
#   - input: schema.gateway
package writ.gateway.routing

import data.compiled.gateway
import data.writ.gateway.request

# METADATA
# description: |
#   The paths that decide the request, each with gateway, route and effective policy,
#   by the routes' namespace/name. They are several where routes of different
#   namespaces tie, and none where no route takes the request.
paths := [path |
	some [_, match] in sort([[_name(match.route), match] | some match in _taken.matches])
	path := {
		"gateway": sprintf("Gateway/%s#%s", [_key, _taken.listener]),
		"route": match.route,
		"policy": match.policy,
	}
]

# METADATA
# description: |
#   The listener that a request without a path would be on, or the gateway if none of
#   its listeners takes the request. It decides that no path takes it.
# scope: document
place := gateway.places[sprintf("Gateway/%s#%s", [_key, _listeners[0]])] if {
	_listeners[0]
} else := gateway.places[sprintf("Gateway/%s", [_key])]

_name(route) := split(substring(route, indexof(route, "/") + 1, -1), "#")[0]

# The first listener in the order of preference. A route that is named is looked
# for on the listeners it is on.
_taken := [found | some found in _found][0]

_found := [{"listener": listener, "matches": matches} |
	some listener in _listeners
	matches := _matches(sprintf("%s#%s", [_key, listener]))
]

_route if input.route.name

# The kinds of which the route of the request can be.
_kinds := [kind] if {
	kind := input.route.kind
	not kind in {null, ""}
} else := ["HTTPRoute", "GRPCRoute"]

# A rule that is named is taken, whatever it matches.
_matches(listener) := matches if {
	_route
	rule := input.route.rule
	not rule in {null, ""}
	matches := [match |
		some kind in _kinds
		route := sprintf("%s/%s/%s#%s", [kind, input.route.namespace, input.route.name, rule])
		match := {"route": route, "policy": gateway.paths[listener][route]}
	]
	count(matches) > 0
}

# Routes of one kind do not come before those of the other.
_matches(listener) := [match | some match in best; not _younger(match, best)] if {
	object.get(input, ["route", "rule"], null) in {null, ""}
	best := array.concat(_best(_fitting(listener)), _best(_fitting_grpc(listener)))
	count(best) > 0
}

_fitting(listener) := [match |
	some host in _hosts
	some match in gateway.matches[listener][host]
	_wanted(match)
	_fits(match)
]

# The first match that fits, and those of other namespaces that no criterion before
# the age of routes puts behind it. Matches that can tie have a number in common.
_best([]) := []

_best(fitting) := [fitting[0]] if {
	count(fitting) > 0
	not fitting[0].tie
}

_best(fitting) := firsts if {
	tie := fitting[0].tie
	tied := [match | some match in fitting; match.tie == tie]
	firsts := [match | some i, match in tied; not _namespace(match) in _namespaces(array.slice(tied, 0, i))]
}

_namespace(match) := split(match.route, "/")[1]

_namespaces(matches) := {_namespace(match) | some match in matches}

# Only routes from a cluster have an age here: a document's is what its author wrote.
_younger(match, others) if {
	some other in others
	other.age < match.age
}

_wanted(_) if not _route

_wanted(match) if {
	some kind in _kinds
	startswith(match.route, sprintf("%s/%s/%s#", [kind, input.route.namespace, input.route.name]))
}

_fits(match) if {
	_path_fits(match.type, match.path)
	match.method in {"", input.request.method}
	every header in match.headers {
		_value_fits(header, request.request.headers[header.name])
	}
	every parameter in match.query {
		_value_fits(parameter, request.parameters[parameter.name])
	}
}

_path_fits("Exact", path) if path == request.url_path

_path_fits("RegularExpression", pattern) if regex.match(sprintf("^(?:%s)$", [pattern]), request.url_path)

# A prefix ends where a segment does.
_path_fits("PathPrefix", path) if {
	prefix := trim_right(path, "/")
	startswith(sprintf("%s/", [request.url_path]), sprintf("%s/", [prefix]))
}

_value_fits(wanted, value) if {
	wanted.type == "Exact"
	wanted.value == value
}

_value_fits(wanted, value) if {
	wanted.type == "RegularExpression"
	regex.match(sprintf("^(?:%s)$", [wanted.value]), value)
}
