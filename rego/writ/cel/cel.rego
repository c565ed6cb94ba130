# METADATA
# description: |
#   CEL's operators and functions, for expressions that are compiled to Rego. JSON
#   values represent themselves. Other values are sets, which JSON does not have:
#   {"missing"} if an expression reads a missing key, {"error"} for every other failure,
#   and a pair of type and content for a whole double, a timestamp, a duration and a
#   type. Therefore a whole number is an int. Every function is total: the result is
#   the first argument that is a failure, if there is one.
package writ.cel

# METADATA
# description: The value of an expression that reads a missing key or beyond a list's end.
missing := {"missing"}

# METADATA
# description: The value of an expression that fails otherwise.
error := {"error"}

# METADATA
# description: Whether a value is true. Undefined otherwise, as are the next two rules.
holds(value) if _is(value, true)

# METADATA
# description: Whether a value is false.
fails(value) if _is(value, false)

# METADATA
# description: Whether a value is an error or not a bool. A missing key is not an error.
broken(value) if {
	not _is(value, missing)
	not is_boolean(value)
}

# Function arguments have no type. A direct comparison with a constant would be a type
# error if OPA's type checker knows that the value has another type.
_is(value, constant) if value == constant

_failed(value) if _is(value, missing)

_failed(value) if _is(value, error)

# The failure of an operation that has no value for these arguments.
_failure(args) := failed[0] if {
	failed := [arg | some arg in args; _failed(arg)]
	count(failed) > 0
} else := error

# The content of a value whose type JSON does not have.
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
