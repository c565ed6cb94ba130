package writ.cel

# METADATA
# description: "!value."
inverse(value) if {
	_is(value, false)
} else := false if {
	_is(value, true)
} else := _failure([value])

# METADATA
# description: "a && b: false if a term is false, else the first term that is not true."
conjunction(terms) := false if {
	false in terms
} else := _failure([others[0]]) if {
	others := [term | some term in terms; term != true]
	count(others) > 0
} else := true

# METADATA
# description: "a || b: true if a term is true, else the first term that is not false."
disjunction(terms) if {
	true in terms
} else := _failure([others[0]]) if {
	others := [term | some term in terms; term != false]
	count(others) > 0
} else := false

# METADATA
# description: "condition ? yes : no."
choice(condition, yes, no) := yes if {
	_is(condition, true)
} else := no if {
	_is(condition, false)
} else := _failure([condition])

# METADATA
# description: The elements of a list or the keys of a map, over which a macro iterates.
elements(range) := range if {
	is_array(range)
} else := [key | some key, _ in range] if {
	is_object(range)
} else := []

# METADATA
# description: |
#   The value of a macro over range. An error if range has no elements to iterate over.
over(range, value) := value if {
	_ranges(range)
} else := _failure([range])

_ranges(range) if is_array(range)

_ranges(range) if is_object(range)

_ranges(range) if _is(range, "")

# METADATA
# description: Whether exactly one of the terms is true. The last failure counts.
single(terms) := _last_failure(terms) if {
	_odd(terms)
} else := count([term | some term in terms; term == true]) == 1

_odd(terms) if {
	some term in terms
	not is_boolean(term)
}

_last_failure(terms) := _failure([odd[count(odd) - 1]]) if {
	odd := [term | some term in terms; not is_boolean(term)]
}

# METADATA
# description: |
#   The values whose terms are true, from a list of [term, value]. A failed term
#   replaces earlier failures; a failed value counts only without an earlier failure.
selected(pairs) := list([pair[1] | some pair in pairs; pair[0] == true]) if {
	terms := [pair[0] | some pair in pairs]
	not _odd(terms)
} else := _last_failure([pair[0] | some pair in pairs])

# METADATA
# description: "left == right, over the kinds of numbers."
same(left, right) := left == right if {
	not is_set(left)
	not is_set(right)
} else := _plain(left) == _plain(right) if {
	not _failed(left)
	not _failed(right)
} else := _failure([left, right])

# METADATA
# description: "left != right."
differs(left, right) := left != right if {
	not is_set(left)
	not is_set(right)
} else := _plain(left) != _plain(right) if {
	not _failed(left)
	not _failed(right)
} else := _failure([left, right])

# METADATA
# description: "left < right."
less(left, right) := pair[0] < pair[1] if {
	pair := _ordered(left, right)
} else := _failure([left, right])

# METADATA
# description: "left <= right."
at_most(left, right) := pair[0] <= pair[1] if {
	pair := _ordered(left, right)
} else := _failure([left, right])

# The operands of an order comparison, converted to comparable values.
_ordered(left, right) := [left, right] if {
	is_number(left)
	is_number(right)
} else := pair if {
	pair := [_plain(left), _plain(right)]
	is_number(pair[0])
	is_number(pair[1])
} else := [left, right] if {
	is_string(left)
	is_string(right)
} else := [left, right] if {
	is_boolean(left)
	is_boolean(right)
} else := [_tagged(left, type), _tagged(right, type)] if {
	some type in ["timestamp", "duration"]
	_tagged(left, type)
	_tagged(right, type)
}

# METADATA
# description: "left > right."
greater(left, right) := pair[0] > pair[1] if {
	pair := _ordered(left, right)
} else := _failure([left, right])

# METADATA
# description: "left >= right."
at_least(left, right) := pair[0] >= pair[1] if {
	pair := _ordered(left, right)
} else := _failure([left, right])
