# METADATA
# description: |
#   Which path a request takes: the listener by its hostname, then the route and
#   rule by the Gateway API's precedence. Listeners and, for each hostname, matches
#   in that precedence are generated into data.compiled.gateway.
package writ.gateway.routing

import data.compiled.gateway
import data.writ.gateway.request

# METADATA
# description: |
#   The path of the request: gateway, route and the effective policy. Undefined
#   where there is none.
path := {
	"gateway": sprintf("Gateway/%s#%s", [_key, _taken.listener]),
	"route": _taken.match.route,
	"policy": _taken.match.policy,
}

# The first listener in the order of preference. A route that is named is looked
# for on the listeners it is on.
_taken := [found | some found in _found][0]

_found := [{"listener": listener, "match": match} |
	some listener in _listeners
	match := _match(sprintf("%s#%s", [_key, listener]))
]

_route if input.route.name

# A rule that is named is taken, whatever it matches.
_match(listener) := match if {
	_route
	rule := input.route.rule
	not rule in {null, ""}
	route := sprintf("HTTPRoute/%s/%s#%s", [input.route.namespace, input.route.name, rule])
	match := {"route": route, "policy": gateway.paths[listener][route]}
}

_match(listener) := [match |
	some host in _hosts
	some match in gateway.matches[listener][host]
	_wanted(match)
	_fits(match)
][0] if {
	object.get(input, ["route", "rule"], null) in {null, ""}
}

_wanted(_) if not _route

_wanted(match) if startswith(match.route, sprintf("HTTPRoute/%s/%s#", [input.route.namespace, input.route.name]))

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
