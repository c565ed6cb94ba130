package writ.gateway.request

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
#   What is wrong with the input, in one sentence. Undefined for a valid request.
# scope: document
problem := "the request is not an object" if not is_object(input)

problem := sorted[0] if {
	is_object(input)
	sorted := sort(_problems)
	count(sorted) > 0
}

_problems contains sprintf("%v: unknown key", [key]) if {
	some key, _ in input
	not key in _objects
	key != null
}

_problems contains sprintf("%s: must be an object", [key]) if {
	some key in _objects
	value := object.get(input, key, null)
	value != null
	not is_object(value)
}

_problems contains sprintf("%s.%s: must be a string", [key, name]) if {
	some key, names in _strings
	some name in names
	value := _member(key, name)
	value != null
	not is_string(value)
}

_problems contains sprintf("%s.%s: must be a number", [key, name]) if {
	some key, names in _numbers
	some name in names
	value := _member(key, name)
	value != null
	not is_number(value)
}

_problems contains sprintf("%s.%s: must be an object of strings", [pair[0], pair[1]]) if {
	some pair in [["request", "headers"], ["source", "labels"]]
	value := _member(pair[0], pair[1])
	value != null
	not _object_of_strings(value)
}

_problems contains "auth.metadata: must be an object" if {
	value := _member("auth", "metadata")
	value != null
	not is_object(value)
}

_problems contains sprintf("request.%s: must be a string that is not empty", [name]) if {
	some name in _required
	object.get(_object("request"), name, null) in {null, ""}
}

_problems contains sprintf("%s.%s: must be set if %s is set", [key, name, key]) if {
	some key in ["gateway", "route"]
	count(_object(key)) > 0
	some name in ["namespace", "name"]
	object.get(_object(key), name, null) in {null, ""}
}

_problems contains "route.kind: must be HTTPRoute or GRPCRoute" if {
	kind := _member("route", "kind")
	is_string(kind)
	not kind in {"", "HTTPRoute", "GRPCRoute"}
}

_member(key, name) := object.get(_object(key), name, null)

_object(key) := value if {
	value := object.get(input, key, null)
	is_object(value)
} else := {}

_object_of_strings(value) if {
	is_object(value)
	every item in value {
		is_string(item)
	}
}
