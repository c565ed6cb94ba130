# METADATA
# description: |
#   What CEL's operators do, for expressions that are compiled to Rego. A value is
#   the JSON it is; what JSON cannot say is a set, which no JSON has: "missing" for
#   what reads a key that is not there, "error" for every other failure, and a pair
#   of type and content for a double that is whole, a timestamp, a duration and a
#   type. So a number that is whole is an int. Every function is total: one whose
#   argument is a failure is that failure, the first where there are several.
package writ.cel

# METADATA
# description: The value of what reads a key that is not there, or beyond a list's end.
missing := {"missing"}

# METADATA
# description: The value of every other failure.
error := {"error"}

# METADATA
# description: Whether a value is true. Undefined if not, as are the two below.
holds(value) if _is(value, true)

# METADATA
# description: Whether a value is false.
fails(value) if _is(value, false)

# METADATA
# description: Whether a value is a failure other than that of a missing key, or no bool.
broken(value) if {
	not _is(value, missing)
	not is_boolean(value)
}

# Arguments of a function have no type: compared with a constant directly, a value
# would get the constant's, and another's type be an error in the program.
_is(value, constant) if value == constant

_failed(value) if _is(value, missing)

_failed(value) if _is(value, error)

# The failure of an operation that has no value for these arguments.
_failure(args) := failed[0] if {
	failed := [arg | some arg in args; _failed(arg)]
	count(failed) > 0
} else := error

# The content of a value of a type that JSON has not.
_tagged(value, type) := pair[1] if {
	is_set(value)
	some pair in value
	pair[0] == type
}

# METADATA
# description: The value at the end of a path of keys.
path(root, keys) := found if {
	found := object.get(root, keys, missing)
	found != missing
} else := error if {
	some i, _ in keys
	is_array(object.get(root, array.slice(keys, 0, i), null))
} else := missing

# METADATA
# description: The value under a key, value.key.
field(value, key) := found if {
	is_object(value)
	found := value[key]
} else := value if {
	_failed(value)
} else := error if {
	is_array(value)
} else := missing

# METADATA
# description: The value at a key or an index, value[key].
at(value, key) := found if {
	is_object(value)
	found := value[_plain(key)]
} else := found if {
	is_array(value)
	_int(_plain(key))
	found := value[floor(_plain(key))]
} else := _failure([value, key]) if {
	some arg in [value, key]
	_failed(arg)
} else := error if {
	not _key(_plain(key))
} else := error if {
	is_array(value)
	not _int(_plain(key))
} else := missing

_key(key) if is_string(key)

_key(key) if is_boolean(key)

_key(key) if is_number(key)

# METADATA
# description: Whether there is a value under a key, has(value.key).
has(value, key) := key in object.keys(value) if {
	is_object(value)
} else := _failure([value]) if {
	_failed(value)
} else := error if {
	is_array(value)
} else := false
