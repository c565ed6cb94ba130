package writ.gateway.request

import data.writ.shape

_objects := {"gateway", "route", "request", "source", "destination", "connection", "metadata", "auth"}

# Types of the known members. Conditions may read others, of any type.
_strings := {
	"gateway": ["namespace", "name", "listener"],
	"route": ["kind", "namespace", "name", "rule"],
	"request": ["id", "protocol", "scheme", "host", "method", "path", "url_path", "query", "body"],
	"source": ["address", "principal", "service", "certificate"],
	"destination": ["address"],
}

_numbers := {"request": ["size"], "source": ["port"], "destination": ["port"]}

_required := ["host", "method", "path"]

# METADATA
# description: |
#   What is wrong with the input, in one sentence. Undefined for a valid request. Unknown
#   keys come first, then values of a wrong type, then what is missing.
# scope: document
problem := shape.no_object

problem := _problem if not shape.no_object

_problem := shape.unknown_key(_objects)

_problem := min(_mistyped) if not shape.unknown_key(_objects)

_problem := min(_incomplete) if {
	not shape.unknown_key(_objects)
	count(_mistyped) == 0
}

_mistyped contains shape.object_of_any(key, input[key]) if some key in _objects

_mistyped contains shape.text(concat(".", [key, name]), _object(key)[name]) if {
	some key, names in _strings
	some name in names
}

_mistyped contains shape.number(concat(".", [key, name]), _object(key)[name]) if {
	some key, names in _numbers
	some name in names
}

_mistyped contains shape.object_of_text("request.headers", _object("request").headers)

_mistyped contains shape.object_of_text("source.labels", _object("source").labels)

_mistyped contains shape.object_of_any("auth.metadata", _object("auth").metadata)

_incomplete contains sprintf("key \"request.%s\" must be a string that is not empty", [name]) if {
	some name in _required
	_is_unset("request", name)
}

_incomplete contains sprintf("key \"%s.%s\" must be set if %q is set", [key, name, key]) if {
	some key in ["gateway", "route"]
	count(_object(key)) > 0
	some name in ["namespace", "name"]
	_is_unset(key, name)
}

_incomplete contains `key "route.kind" must be HTTPRoute or GRPCRoute` if {
	not _is_unset("route", "kind")
	not input.route.kind in {"HTTPRoute", "GRPCRoute"}
}

_is_unset(key, name) if object.get(_object(key), name, null) in {null, ""}

_object(key) := value if {
	value := object.get(input, key, null)
	is_object(value)
} else := {}
