package writ.access.request

_others := {"groups", "fields", "labels", "namespaceLabels", "extra", "pod", "attributes"}

_about_resource := ["apiGroup", "resource", "subresource", "namespace", "name"]

# METADATA
# description: |
#   What is wrong with the input, one sentence. Undefined for a request.
# scope: document
problem := "the request is not an object" if {
	not input[null]
	not is_object(input)
}

problem := sorted[0] if {
	not input[null]
	is_object(input)
	sorted := sort(_problems)
	count(sorted) > 0
}

_problems contains sprintf("%v: unknown key", [key]) if {
	some key, _ in input
	not key in _strings
	not key in _others
}

_problems contains sprintf("%s: must be a string", [key]) if {
	some key in _strings
	not _null(key)
	not is_string(input[key])
}

_problems contains sprintf("%s: must be a list of strings", [key]) if {
	some key in ["groups", "fields"]
	not _null(key)
	not _list_of_strings(input[key])
}

_problems contains sprintf("%s: must be an object of strings", [key]) if {
	some key in ["labels", "namespaceLabels"]
	not _null(key)
	not _object_of_strings(input[key])
}

_problems contains "extra: must be an object of lists of strings" if {
	not _null("extra")
	not _object_of_lists(input.extra)
}

_problems contains sprintf("%s: must be an object", [key]) if {
	some key in ["pod", "attributes"]
	not _null(key)
	not is_object(input[key])
}

_problems contains "user: must be written" if not is_string(object.get(input, "user", null))

_problems contains "user: may be empty only where groups is not" if {
	input.user == ""
	count(_list("groups")) == 0
}

_problems contains "verb: must not be empty" if _string("verb") == ""

_problems contains "resource: either resource or path must be set" if {
	_string("resource") == ""
	_string("path") == ""
}

_problems contains `resource must not contain "/": put the part after it in subresource` if {
	contains(_string("resource"), "/")
}

_problems contains sprintf("%s: must be empty where path is set", [key]) if {
	_string("path") != ""
	some key in _about_resource
	_string(key) != ""
}

# Absent and null are the same for every key.
_null(key) if object.get(input, key, null) == null

_list_of_strings(value) if {
	is_array(value)
	every item in value {
		is_string(item)
	}
}

_object_of_strings(value) if {
	is_object(value)
	every item in value {
		is_string(item)
	}
}

_object_of_lists(value) if {
	is_object(value)
	every item in value {
		_list_of_strings(item)
	}
}

_string(key) := value if {
	value := object.get(input, key, "")
	is_string(value)
} else := ""

_list(key) := value if {
	value := object.get(input, key, [])
	is_array(value)
} else := []
