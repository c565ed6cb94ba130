package writ.cel

# METADATA
# description: Whether a string begins with another.
starts_with(text, part) := startswith(text, part) if {
	_strings([text, part])
} else := _failure([text, part])

# METADATA
# description: Whether a string ends with another.
ends_with(text, part) := endswith(text, part) if {
	_strings([text, part])
} else := _failure([text, part])

# METADATA
# description: Whether a string has another in it.
includes(text, part) := contains(text, part) if {
	_strings([text, part])
} else := _failure([text, part])

# METADATA
# description: Whether a regular expression is found in a string.
matches(text, pattern) := regex.match(pattern, text) if {
	_strings([text, pattern])
	regex.is_valid(pattern)
} else := _failure([text, pattern])

_strings(values) if {
	every value in values {
		is_string(value)
	}
}

# METADATA
# description: A string with its ASCII letters in lower case.
lower_ascii(text) := _mapped(text, "[A-Z]", "lower") if {
	is_string(text)
} else := _failure([text])

# METADATA
# description: A string with its ASCII letters in upper case.
upper_ascii(text) := _mapped(text, "[a-z]", "upper") if {
	is_string(text)
} else := _failure([text])

_mapped(text, pattern, how) := strings.replace_n({found: _cased(found, how) | some found in regex.find_n(pattern, text, -1)}, text)

_cased(text, "lower") := lower(text)

_cased(text, "upper") := upper(text)

# METADATA
# description: A string without the white space around it.
trimmed(text) := trim_space(text) if {
	is_string(text)
} else := _failure([text])

# METADATA
# description: A string back to front.
reversed(text) := strings.reverse(text) if {
	is_string(text)
} else := _failure([text])

# METADATA
# description: The parts of a string between separators, at most limit if that is not negative.
parts(text, separator, limit) := _limited(split(text, separator), separator, limit) if {
	_strings([text, separator])
	_int(limit)
} else := _failure([text, separator, limit])

_limited(all, separator, limit) := all if {
	limit < 0
} else := [] if {
	_is(limit, 0)
} else := all if {
	count(all) <= limit
} else := array.concat(
	array.slice(all, 0, limit - 1),
	[concat(separator, array.slice(all, limit - 1, count(all)))],
)

# METADATA
# description: The strings of a list with a separator between them.
joined(list, separator) := concat(separator, list) if {
	is_array(list)
	_strings(list)
	is_string(separator)
} else := _failure([list, separator])

# METADATA
# description: A string with another in place of one, at most limit times if that is not negative.
replaced(text, old, new, limit) := _replaced(_between(text, old), old, new, limit) if {
	_strings([text, old, new])
	_int(limit)
} else := _failure([text, old, new, limit])

_between(text, "") := array.flatten(["", split(text, ""), ""])

_between(text, old) := split(text, old) if old != ""

_replaced(parts, old, new, limit) := concat(new, parts) if {
	limit < 0
} else := concat(new, parts) if {
	limit >= count(parts) - 1
} else := concat(new, array.concat(
	array.slice(parts, 0, limit),
	[concat(old, array.slice(parts, limit, count(parts)))],
))
