package writ.cel

# A whole number may be written 2.0 or 2e0, which OPA refuses where it wants an index:
# floor writes it in digits.

# A double without its tag.
_plain(value) := content if {
	content := _tagged(value, "double")
} else := value

_int(value) if {
	is_number(value)
	_is(value, floor(value))
	_fits(value)
}

_fits(number) if {
	number >= -9223372036854775808
	number <= 9223372036854775807
}

_double(value) := value if {
	is_number(value)
	not _int(value)
} else := _tagged(value, "double")

# METADATA
# description: A double; what comes from a list of doubles may be whole.
real(value) := {["double", value]} if {
	_int(value)
} else := value

# A result in the ints, which an overflow is not.
_checked(number) := number if {
	_fits(number)
} else := error

# A result in the doubles.
_rounded(number) := real(_nearest(number)) if {
	abs(number) <= 1.7976931348623157e308
} else := error

# The nearest double: sprintf takes a number that is written with a fraction for one,
# and writes one that is whole with all its digits.
_nearest(number) := to_number(sprintf("%v", [number])) if {
	number != floor(number)
} else := to_number(sprintf("%.0f", [_with_fraction(number)]))

_with_fraction(number) := to_number(sprintf("%d.0", [floor(number)])) if {
	number == floor(number)
} else := number

# METADATA
# description: "left + right: numbers of one kind, strings, lists, times."
add(left, right) := _checked(left + right) if {
	_int(left)
	_int(right)
} else := concat("", [left, right]) if {
	is_string(left)
	is_string(right)
} else := array.concat(left, right) if {
	is_array(left)
	is_array(right)
} else := _rounded(_double(left) + _double(right)) if {
	_double(left)
	_double(right)
} else := _later(left, right) if {
	_later(left, right)
} else := _failure([left, right])

# METADATA
# description: "left - right."
subtract(left, right) := _checked(left - right) if {
	_int(left)
	_int(right)
} else := _rounded(_double(left) - _double(right)) if {
	_double(left)
	_double(right)
} else := _earlier(left, right) if {
	_earlier(left, right)
} else := _failure([left, right])

# METADATA
# description: "left * right."
multiply(left, right) := _checked(left * right) if {
	_int(left)
	_int(right)
} else := _rounded(_double(left) * _double(right)) if {
	_double(left)
	_double(right)
} else := _failure([left, right])

# METADATA
# description: "left / right, towards zero in the ints. What is divided by zero is an error."
divide(left, right) := _checked((left - (left % right)) / right) if {
	_int(left)
	_int(right)
	right != 0
} else := _rounded(_double(left) / _double(right)) if {
	_double(left)
	_double(right) != 0
} else := _failure([left, right])

# METADATA
# description: "left % right, with the sign of left."
modulo(left, right) := left % right if {
	_int(left)
	_int(right)
	right != 0
	_fits((left - (left % right)) / right)
} else := _failure([left, right])

# METADATA
# description: "-value."
negate(value) := _checked(0 - value) if {
	_int(value)
} else := _rounded(0 - _double(value)) if {
	_double(value)
} else := _failure([value])
