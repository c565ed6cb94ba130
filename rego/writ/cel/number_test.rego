package writ.cel_test

import data.writ.cel

test_numbers[note] if {
	some note, row in {
		"ints": [cel.add(1, 2), 3],
		"more than an int": [cel.add(9223372036854775807, 1), cel.error],
		"less than an int": [cel.subtract(-9223372036854775808, 1), cel.error],
		"product": [cel.multiply(4611686018427387904, 2), cel.error],
		"doubles": [cel.add(1.5, 1.5), {["double", 3]}],
		"an int and a double": [cel.add(1, 0.5), cel.error],
		"a whole double and a double": [cel.subtract({["double", 3]}, 0.5), 2.5],
		"too great for a double": [cel.multiply(1e308, {["double", 10]}), cel.error],
		"texts": [cel.add("a", "b"), "ab"],
		"lists": [cel.add([1], [2]), [1, 2]],
		"the first failure": [cel.add(cel.missing, cel.error), cel.missing],
		"towards zero": [cel.divide(-7, 2), -3],
		"by zero": [cel.divide(1, 0), cel.error],
		"the least int by -1": [cel.divide(-9223372036854775808, -1), cel.error],
		"doubles divided": [cel.divide({["double", 1]}, {["double", 4]}), 0.25],
		"rest": [cel.modulo(-7, 2), -1],
		"rest of zero": [cel.modulo(1, 0), cel.error],
		"rest of an overflow": [cel.modulo(-9223372036854775808, -1), cel.error],
		"negative": [cel.negate(-9223372036854775808), cel.error],
		"negative double": [cel.negate(0.5), -0.5],
	}
	row[0] == row[1]
}

test_conversions[note] if {
	some note, row in {
		"type of a whole number": [cel.type(1.0), {["type", "int"]}],
		"type of a fraction": [cel.type(0.5), {["type", "double"]}],
		"type of a type": [cel.type(cel.type(1)), {["type", "type"]}],
		"type of what is missing": [cel.type(cel.missing), cel.missing],
		"bool": [cel.as_bool("T"), true],
		"bool of a word": [cel.as_bool("yes"), cel.error],
		"int of a text": [cel.as_int("-012"), -12],
		"int of a plus": [cel.as_int("+08"), 8],
		"int of 0": [cel.as_int("-000"), 0],
		"double of a text": [cel.as_double("-007.50e1"), {["double", -75]}],
		"double of a point": [cel.as_double("+.5"), 0.5],
		"double of a point at the end": [cel.as_double("5."), {["double", 5]}],
		"double of a great exponent": [cel.as_double("1e999"), cel.error],
		"double of no digits": [cel.as_double("."), cel.error],
		"text of a great int": [cel.as_string(9223372036854775807), "9223372036854775807"],
		"int of a fraction below zero": [cel.as_int(-0.5), 0],
		"int of a long text": [cel.as_int("9223372036854775808"), cel.error],
		"int of a time": [cel.as_int(cel.timestamp("1969-12-31T23:59:59.5Z")), -1],
		"double of an int": [cel.as_double(3), {["double", 3]}],
		"double of a great int": [cel.as_double(9007199254740993), {["double", 9007199254740992]}],
		"text of a double": [cel.as_string({["double", 3]}), "3"],
		"text of an int written with a fraction": [cel.as_string(12.0), "12"],
		"text of a great double": [cel.as_string({["double", 1000000]}), "1e+06"],
		"the nearest double": [cel.as_double(4611686018427387904), {["double", 4611686018427387904]}],
		"text of a bool": [cel.as_string(false), "false"],
		"text of a list": [cel.as_string([]), cel.error],
		"JSON of a time": [cel.as_json({["timestamp", 0]}), "1970-01-01T00:00:00Z"],
		"JSON of a double": [cel.as_json({["double", 3]}), 3],
	}
	row[0] == row[1]
}

test_no_json_for_failures_and_types if {
	not cel.as_json(cel.missing)
	not cel.as_json(cel.error)
	not cel.as_json(cel.type(1))
}
