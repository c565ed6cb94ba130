package writ.gateway.routing

import data.compiled.gateway
import data.writ.gateway.request

# METADATA
# description: |
#   Why no gateway is searched for a path. Undefined where one gateway is found, and
#   one route if the request names a route.
# scope: document
problem := _gateway_problem

problem := {
	"code": "ambiguous_route",
	"message": sprintf("route.kind: must be given, an HTTPRoute and a GRPCRoute are named %s/%s", [input.route.namespace, input.route.name]),
} if {
	not _gateway_problem
	count(_kinds) > 1
	sprintf("%s/%s", [input.route.namespace, input.route.name]) in gateway.twins
}

_gateway_problem := {
	"code": "gateway_required",
	"message": sprintf("gateway: must be given, there are %d gateways", [count(_names)]),
} if {
	not _named
	count(_names) != 1
}

_gateway_problem := {
	"code": "unknown_gateway",
	"message": sprintf("gateway: Gateway %s is not among the documents", [_key]),
} if {
	_named
	not gateway.listeners[_key]
}

_gateway_problem := {
	"code": "unknown_gateway",
	"message": sprintf("gateway.listener: Gateway %s has no listener %q", [_key, _listener]),
} if {
	_listener
	gateway.listeners[_key]
	not _listener in {listener.name | some listener in gateway.listeners[_key]}
}

# A bundle without gateways has no such document.
_names := names if {
	names := gateway.names
} else := set()

_named if input.gateway.name

_key := sprintf("%s/%s", [input.gateway.namespace, input.gateway.name]) if _named

_key := key if {
	not _named
	count(_names) == 1
	some key in _names
}

_listener := name if {
	name := input.gateway.listener
	not name in {null, ""}
}

# METADATA
# description: The listeners a request can be on, the preferred first.
_listeners := [_listener] if _listener

_listeners := [name | some [_, _, _, name] in _ranked] if {
	not _listener
	_route
}

# Without a route only the preferred listener is looked at: another one of the
# same address never sees the request.
_listeners := [_ranked[0][3]] if {
	not _listener
	not _route
}

_ranked := sort([[rank[0], rank[1], position, listener.name] |
	some position, listener in gateway.listeners[_key]
	_right_port(listener)
	_right_protocol(listener)
	rank := _fit(listener.hostname)
])

_right_port(listener) if listener.port == input.destination.port

_right_port(_) if object.get(input, ["destination", "port"], null) == null

_right_protocol(listener) if {
	listener.protocol in {"HTTP", "HTTPS"}
	_scheme in {"", lower(listener.protocol)}
}

_scheme := lower(input.request.scheme) if {
	is_string(input.request.scheme)
} else := ""

# How well a hostname fits: exact before a wildcard, a longer one before a shorter,
# none at the end.
_fit(hostname) := [0, 0] if {
	hostname == request.host
} else := [1, 0 - count(hostname)] if {
	hostname in _wildcards
} else := [2, 0] if {
	hostname == ""
}

_labels := split(request.host, ".")

# No hostname of a document has more labels than a name in DNS can have.
_wildcards := [sprintf("*.%s", [concat(".", array.slice(_labels, from, count(_labels)))]) |
	some from in numbers.range(max([1, count(_labels) - _most_labels]), count(_labels) - 1)
	count(_labels) > 1
	_labels[0] != ""
]

_most_labels := 127

_hosts := array.concat([request.host], array.concat(_wildcards, [""])) if count(_labels) > 1

_hosts := [request.host, ""] if count(_labels) == 1
