package writ.cel

# Timestamps are nanoseconds since 1970 and durations nanoseconds, both whole. The
# calendar is computed: OPA's clock ends in 2262, and "never" is often 9999.

_second := 1000000000

_instant := `^([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(\.[0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`

# METADATA
# description: A value as a timestamp, timestamp(value).
timestamp(value) := value if {
	_tagged(value, "timestamp")
} else := _moment(value * _second) if {
	_int(value)
} else := _moment(_instant_of(value)) if {
	is_string(value)
	_instant_of(value)
} else := _failure([value])

_moment(number) := {["timestamp", number]} if {
	number >= -62135596800 * _second
	number < 253402300800 * _second
} else := error

# A number of two or four digits, which may begin with 0.
_digits(text) := to_number(concat("", ["1", text])) - array.slice([1, 10, 100, 1000, 10000], count(text), 5)[0]

_instant_of(text) := ((seconds - _offset(parts[8])) * _second) + _fraction(parts[7]) if {
	parts := regex.find_all_string_submatch_n(_instant, text, 1)[0]
	[year, month, day, hour, minute, second] := [_digits(part) | some part in array.slice(parts, 1, 7)]
	month >= 1
	month <= 12
	day >= 1
	day <= _length(year, month)
	hour <= 23
	minute <= 59
	second <= 59
	seconds := (((((_days(year, month, day) * 24) + hour) * 60) + minute) * 60) + second
}

# The nanoseconds of a fraction such as ".5"; what is beyond them is cut off.
_fraction("") := 0

_fraction(text) := _digits_of(substring(concat("", [substring(text, 1, 9), "000000000"]), 0, 9)) if text != ""

_digits_of(text) := to_number(concat("", ["1", text])) - _second

_offset("Z") := 0

_offset(text) := sign * ((_digits(substring(text, 1, 2)) * 3600) + (_digits(substring(text, 4, 2)) * 60)) if {
	sign := {"+": 1, "-": -1}[substring(text, 0, 1)]
}

# METADATA
# description: A value as a duration, duration(value).
duration(value) := value if {
	_tagged(value, "duration")
} else := {["duration", time.parse_duration_ns(value)]} if {
	is_string(value)
	_lasts(value)
} else := _failure([value])

# What OPA reads without an error: less than the ints of nanoseconds have.
_lasts(text) if text in {"0", "+0", "-0"}

_lasts(text) if {
	regex.match(`^[+-]?(([0-9]{1,19}(\.[0-9]{0,9})?|\.[0-9]{1,9})(ns|us|µs|μs|ms|s|m|h))+$`, text)
	sum([amount |
		some part in regex.find_all_string_submatch_n(`([0-9.]+)([a-zµμ]+)`, text, -1)
		amount := _about(part[1]) * _nanoseconds[part[2]]
	]) < 9223372036854775807
}

# A number, or the next that is whole.
_about(text) := _whole(parts[0]) + (count(parts) - 1) if parts := split(text, ".")

_whole("") := 0

_whole(text) := to_number(concat("", ["1", text])) - _power(count(text)) if text != ""

_power(exponent) := to_number(concat("", ["1", substring("0000000000000000000", 0, exponent)]))

_nanoseconds := {
	"ns": 1,
	"us": 1000,
	"µs": 1000,
	"μs": 1000,
	"ms": 1000000,
	"s": _second,
	"m": 60 * _second,
	"h": 3600 * _second,
}

_lasting(number) := {["duration", number]} if {
	_fits(number)
} else := error

# The sum of times. Undefined for other values.
_later(left, right) := _moment(_tagged(left, "timestamp") + _tagged(right, "duration"))

_later(left, right) := _moment(_tagged(left, "duration") + _tagged(right, "timestamp"))

_later(left, right) := _lasting(_tagged(left, "duration") + _tagged(right, "duration"))

# Times subtracted.
_earlier(left, right) := _moment(_tagged(left, "timestamp") - _tagged(right, "duration"))

_earlier(left, right) := _lasting(_tagged(left, "timestamp") - _tagged(right, "timestamp"))

_earlier(left, right) := _lasting(_tagged(left, "duration") - _tagged(right, "duration"))

# A timestamp as text, in UTC.
_instant_text(number) := sprintf("%s%sZ", [
	sprintf("%04d-%02d-%02dT%02d:%02d:%02d", array.concat(
		_date(days),
		[_part(part, days, number) | some part in ["hours", "minutes", "seconds"]],
	)),
	_decimals(number - (_whole_part(number, _second) * _second)),
]) if {
	days := _whole_part(number, 86400 * _second)
}

# A duration as text, in seconds.
_duration_text(number) := sprintf("%s%d%ss", [sign, _whole_part(abs(number), _second), _decimals(abs(number) % _second)]) if {
	sign := {true: "-", false: ""}[number < 0]
}

_decimals(0) := ""

_decimals(nanoseconds) := trim_right(sprintf(".%09d", [nanoseconds]), "0") if nanoseconds > 0
