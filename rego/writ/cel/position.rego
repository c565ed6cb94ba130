package writ.cel

# METADATA
# description: The characters of a string from one position up to another.
part(text, start, end) := substring(text, floor(start), floor(end - start)) if {
	is_string(text)
	_int(start)
	_int(end)
	0 <= start
	start <= end
	end <= count(text)
} else := _failure([text, start, end])

# METADATA
# description: The characters of a string from a position.
rest(text, start) := substring(text, floor(start), -1) if {
	is_string(text)
	_int(start)
	0 <= start
	start <= count(text)
} else := _failure([text, start])

# METADATA
# description: The character at a position; undefined at the end.
char_at(text, index) := substring(text, floor(index), 1) if {
	is_string(text)
	_int(index)
	0 <= index
	index <= count(text)
} else := _failure([text, index])

# METADATA
# description: Where a string is first found in another from a position, or -1.
index_of(text, part, start) := min([start, count(text)]) if {
	_searches(text, part, start)
	_is(part, "")
} else := _shifted(indexof(substring(text, floor(start), -1), part), start) if {
	_searches(text, part, start)
	start < count(text)
} else := -1 if {
	_searches(text, part, start)
} else := _failure([text, part, start])

_searches(text, part, start) if {
	_strings([text, part])
	_int(start)
	start >= 0
}

_shifted(-1, _) := -1

_shifted(found, start) := found + start if found >= 0

# METADATA
# description: Where a string is last found in another, or -1.
last_index_of(text, part) := count(text) if {
	is_string(text)
	_is(part, "")
} else := max(array.concat([-1], indexof_n(text, part))) if {
	_strings([text, part])
} else := _failure([text, part])
