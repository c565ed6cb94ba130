# METADATA
# description: |
#   The types of values in requests. Each function returns the problem of a value that
#   does not have the type, in the words of writ's own decoder, and is undefined for a
#   value that has it. null means absent, and has every type.
package writ.shape

# METADATA
# description: The problem of input that is not an object, absent input included.
# scope: document
no_object := "the request is not a JSON object" if not input

no_object := "the request is not a JSON object" if not is_object(input)

# METADATA
# description: The first problem of keys of the input that are not known.
unknown_key(known) := sprintf("unknown key %s", [quoted(min(object.keys(input) - (known | {null})))])

# METADATA
# description: A key in quotes. A long key is truncated.
quoted(key) := sprintf("%q", [key]) if {
	count(key) <= 80
} else := sprintf("%q", [concat("", [substring(key, 0, 80), "..."])])

# METADATA
# description: Whether a value is not a string.
text(name, value) := sprintf("key %q must be a string", [name]) if {
	value != null
	not is_string(value)
}

# METADATA
# description: Whether a value is not a list of strings.
texts(name, value) := sprintf("key %q must be a list of strings", [name]) if {
	value != null
	not is_array(value)
} else := sprintf("key %q must be a list of strings; element %d is not a string", [name, index]) if {
	index := min({index | some index, element in value; not is_string(element)})
}

# METADATA
# description: Whether a value is not an object.
object_of_any(name, value) := sprintf("key %q must be an object", [name]) if {
	value != null
	not is_object(value)
}

# METADATA
# description: Whether a value is not an object of strings.
object_of_text(name, value) := sprintf("key %q must be an object of strings", [name]) if {
	value != null
	not is_object(value)
} else := sprintf("key %q must be an object of strings; the value of %s is not a string", [name, quoted(key)]) if {
	key := min({key | some key, member in value; not is_string(member)})
}

# METADATA
# description: Whether a value is not an object of lists of strings.
object_of_texts(name, value) := sprintf("key %q must be an object of lists of strings", [name]) if {
	value != null
	not is_object(value)
} else := sprintf("key %q must be an object of lists of strings; the value of %s is not a list of strings", [name, quoted(key)]) if {
	key := min({key | some key, member in value; not _is_texts(member)})
}

_is_texts(value) if {
	is_array(value)
	not texts("", value)
}

# METADATA
# description: Whether a value is not a number.
number(name, value) := sprintf("key %s must be a number", [quoted(name)]) if {
	value != null
	not is_number(value)
}

# METADATA
# description: Whether a value is not a boolean.
boolean(name, value) := sprintf("key %q must be a boolean", [name]) if {
	value != null
	not is_boolean(value)
}
