# METADATA
# description: |
#   Values as text and as numbers, as criteria and aggregations read them.
package writ.visibility.text

# METADATA
# description: |
#   The text form of a value: what is missing or null is the empty text, numbers
#   are plain decimals. Undefined for what has none, a list or an object.
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

# The digits with the point behind so many of them.
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
#   A value as a number, where it is one or a text that says one.
# scope: document
number(value) := value if is_number(value)

number(value) := to_number(trim_prefix(value, "+")) if {
	is_string(value)
	regex.match(`^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?$`, value)
}

# METADATA
# description: |
#   A computed number as people write it: OPA calculates with more digits than a
#   decimal fraction has, and 0.1 + 0.2 must be 0.3.
# scope: document
rounded(value) := value if {
	floor(value) == value
} else := to_number(sprintf("%v", [value]))
