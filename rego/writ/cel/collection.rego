package writ.cel

# METADATA
# description: Whether a list has an element or a map a key, element in collection.
member(element, collection) := _plain(element) in collection if {
	is_array(collection)
	not _failed(element)
} else := _plain(element) in object.keys(collection) if {
	is_object(collection)
	not _failed(element)
} else := _failure([element, collection])

# METADATA
# description: The number of characters of a string or elements of a collection.
size(value) := count(value) if {
	not is_set(value)
	_sized(value)
} else := _failure([value])

_sized(value) if is_string(value)

_sized(value) if is_array(value)

_sized(value) if is_object(value)

# METADATA
# description: A list with these elements.
list(elements) := [_plain(element) | some element in elements] if {
	not _any_failed(elements)
} else := _failure(elements)

_any_failed(values) if {
	some value in values
	_failed(value)
}

# METADATA
# description: A map with these keys and values; of equal keys the last counts.
map(keys, values) := {key: _plain(values[last]) |
	some key in keys
	last := max([i | some i, other in keys; other == key])
} if {
	not _any_failed(keys)
	not _any_failed(values)
	every key in keys {
		_key(key)
		not _double(key)
	}
} else := _failure(array.flatten([[key, values[i]] | some i, key in keys]))
