package writ.cel

# METADATA
# description: The type of a value, which is only compared.
type(value) := {["type", _type(value)]} if {
	_type(value)
} else := _failure([value])

_type(value) := "bool" if is_boolean(value)

_type(value) := "string" if is_string(value)

_type(value) := "null_type" if is_null(value)

_type(value) := "list" if is_array(value)

_type(value) := "map" if is_object(value)

_type(value) := "int" if _int(value)

_type(value) := "double" if _double(value)

_type(value) := "type" if _tagged(value, "type")

_type(value) := "google.protobuf.Timestamp" if _tagged(value, "timestamp")

_type(value) := "google.protobuf.Duration" if _tagged(value, "duration")

# METADATA
# description: A value as a bool, bool(value).
as_bool(value) := value if {
	is_boolean(value)
} else if {
	value in {"1", "t", "T", "true", "TRUE", "True"}
} else := false if {
	value in {"0", "f", "F", "false", "FALSE", "False"}
} else := _failure([value])

# METADATA
# description: A value as an int, int(value).
as_int(value) := value if {
	_int(value)
} else := _cut(_double(value)) if {
	_double(value)
} else := _checked(0 + to_number(_numeral(value))) if {
	is_string(value)
	regex.match(`^[+-]?[0-9]{1,200}$`, value)
} else := _whole_part(_tagged(value, "timestamp"), _second) if {
	_tagged(value, "timestamp")
} else := _tagged(value, "duration") if {
	_tagged(value, "duration")
} else := _failure([value])

_cut(number) := _checked(floor(number)) if {
	number >= 0
} else := _checked(0 - floor(0 - number))

# METADATA
# description: A value as a double, double(value).
as_double(value) := _rounded(value) if {
	_int(value)
} else := value if {
	_double(value)
} else := _rounded(to_number(_numeral(value))) if {
	is_string(value)
	regex.match(`^[+-]?([0-9]{1,200}\.?[0-9]{0,200}|\.[0-9]{1,200})([eE][+-]?[0-9]{1,2})?$`, value)
} else := _failure([value])

# A number as JSON writes it: no plus, no zeros before it, digits around the point.
_numeral(text) := concat("", [
	trim_right(sign, "+"),
	[whole | some whole in [trim_left(digits, "0"), "0"]; whole != ""][0],
	_fractional(point, fraction),
	exponent,
]) if {
	[_, sign, digits, point, fraction, exponent] := regex.find_all_string_submatch_n(`^([+-]?)([0-9]*)(\.?)([0-9]*)(.*)$`, text, 1)[0]
}

_fractional("", _) := ""

_fractional(".", digits) := concat("", [".", digits, "0"])

# METADATA
# description: A value as a string, string(value).
as_string(value) := value if {
	is_string(value)
} else := format_int(value, 10) if {
	_int(value)
} else := sprintf("%v", [value]) if {
	is_boolean(value)
} else := sprintf("%v", [_with_fraction(_double(value))]) if {
	_double(value)
} else := _text_of_time(value) if {
	_text_of_time(value)
} else := _failure([value])

# METADATA
# description: A value as JSON has it. Undefined for a failure and for a type.
as_json(value) := value if {
	not is_set(value)
} else := _tagged(value, "double") if {
	_tagged(value, "double")
} else := _text_of_time(value)

_text_of_time(value) := _instant_text(_tagged(value, "timestamp"))

_text_of_time(value) := _duration_text(_tagged(value, "duration"))

# METADATA
# description: The value itself, dyn(value).
as_is(value) := value
