package writ.access.request

import data.writ.shape

_known := _strings | {"groups", "fields", "labels", "namespaceLabels", "extra", "pod", "attributes"}

# METADATA
# description: |
#   What is wrong with the input, one sentence. Undefined for a request. Unknown keys come
#   first, then values of a wrong type, then what types cannot express.
# scope: document
problem := shape.no_object if not input[null]

problem := _problem if {
	not input[null]
	not shape.no_object
}

_problem := shape.unknown_key(_known)

_problem := min(_mistyped) if not shape.unknown_key(_known)

_problem := _contradiction if {
	not shape.unknown_key(_known)
	count(_mistyped) == 0
}

_mistyped contains shape.text(key, input[key]) if some key in _strings

# Absent and null are the same for every key but the user, which is required.
_mistyped contains `key "user" must be a string` if input.user == null

_mistyped contains shape.texts(key, input[key]) if some key in ["groups", "fields"]

_mistyped contains shape.object_of_text(key, input[key]) if some key in ["labels", "namespaceLabels"]

_mistyped contains shape.object_of_texts("extra", input.extra)

_mistyped contains shape.object_of_any(key, input[key]) if some key in ["pod", "attributes"]

_contradiction := `key "user" is missing` if {
	not _has_user
} else := `key "user" may be empty only where "groups" is not` if {
	input.user == ""
	object.get(input, "groups", null) in {null, []}
} else := `key "verb" must be a string that is not empty` if {
	not _is_set("verb")
} else := `one of the keys "resource" and "path" must be given` if {
	not _is_set("resource")
	not _is_set("path")
} else := `resource must not contain "/": put the part after it in subresource` if {
	_is_set("resource") # null, beside a path, is not text
	contains(input.resource, "/")
} else := sprintf("key %q must be empty beside \"path\"", [beside[0]]) if {
	_is_set("path")
	beside := [key |
		some key in ["resource", "apiGroup", "subresource", "namespace", "name"]
		_is_set(key)
	]
}

_has_user if is_string(input.user)

_is_set(key) if not object.get(input, key, null) in {null, ""}
