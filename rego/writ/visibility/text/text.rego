# METADATA
# description: |
#   Values as text and as numbers, as criteria and aggregations read them.
package writ.visibility.text

# METADATA
# description: |
#   The text form of a value: null is the empty text, and numbers are decimals without
#   an exponent. Undefined for a list or an object.
# scope: document
form(null) := ""

form(value) := value if is_string(value)

form(true) := "true"

form(false) := "false"

form(value) := text if {
	is_number(value)
	written := json.marshal(value)
	text := _plain(written)
}

_plain(written) := written if {
	regex.match(`^(?:0|-?[1-9][0-9]*)$`, written)
} else := _decimal(parts[1], parts[2], parts[3], parts[4]) if {
	parts := regex.find_all_string_submatch_n(_number, written, 1)[0]
}

_number := `^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]\+?(-?[0-9]{1,3}))?$`

_decimal(sign, whole, fraction, exponent) := "0" if {
	trim(concat("", [whole, fraction]), "0") == ""
} else := concat("", [sign, text]) if {
	digits := trim_left(concat("", [whole, fraction]), "0")
	point := (count(digits) - count(fraction)) + _integer(exponent)
	text := _placed(trim_right(digits, "0"), point)
}

_integer("") := 0

_integer(written) := to_number(written) if written != ""

# The digits with the decimal point after the given number of them.
_placed(digits, point) := concat("", ["0.", _zeros(0 - point), digits]) if {
	point <= 0
} else := concat("", [digits, _zeros(point - count(digits))]) if {
	point >= count(digits)
} else := concat(".", [substring(digits, 0, point), substring(digits, point, -1)])

_zeros(n) := concat("", ["0" | some _ in numbers.range(1, n)]) if {
	n > 0
} else := ""

# METADATA
# description: |
#   A value as a number: a number, or a text with a decimal number that is not longer
#   and has no larger exponent than the numbers of a request.
# scope: document
number(value) := value if is_number(value)

# The text is converted to JSON, because to_number fails beyond the range of a float64.
number(value) := json.unmarshal(concat("", [trim_prefix(parts[1], "+"), whole, ".", fraction, "e", exponent])) if {
	is_string(value)
	count(value) <= 128
	parts := regex.find_all_string_submatch_n(_numeric, value, 1)[0]
	whole := _or_zero(parts[2])
	fraction := _or_zero(concat("", [parts[3], parts[4]]))
	exponent := _or_zero(parts[5])
}

_numeric := `^([+-]?)(?:0*([0-9]+)\.?([0-9]*)|\.([0-9]+))(?:[eE]([+-]?[0-9]{1,3}))?$`

_or_zero("") := "0"

_or_zero(digits) := digits if digits != ""

# METADATA
# description: |
#   A computed number rounded to its decimal text: OPA calculates with binary digits,
#   and 0.1 + 0.2 must be 0.3.
# scope: document
rounded(value) := value if {
	_whole(value)
} else := to_number(sprintf("%v", [value]))

_whole(value) if floor(value) == value

# From 2^64 on numbers have no fractions, and the result of floor is not exact.
_whole(value) if abs(value) >= 18446744073709551616
