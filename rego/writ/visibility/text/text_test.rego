package writ.visibility.text_test

import data.writ.visibility.text

test_form[note] if {
	some note, row in {
		"text": {"value": "web", "want": "web"},
		"empty": {"value": "", "want": ""},
		"null": {"value": null, "want": ""},
		"true": {"value": true, "want": "true"},
		"false": {"value": false, "want": "false"},
	}
	text.form(row.value) == row.want
}

# Numbers are parsed from JSON, because the parser of Rego may change constants.
test_number[written] if {
	some written, want in {
		"0": "0",
		"-0": "0",
		"0e5": "0",
		"0.00": "0",
		"1": "1",
		"-1": "-1",
		"100": "100",
		"1.0": "1",
		"-12.30": "-12.3",
		"0.25": "0.25",
		"0.050": "0.05",
		"1e3": "1000",
		"1E+2": "100",
		"1.5e1": "15",
		"1.25e1": "12.5",
		"1e-3": "0.001",
		"12.5e-2": "0.125",
		"5368709120": "5368709120",
		"12345678901234567890123": "12345678901234567890123",
	}
	text.form(json.unmarshal(written)) == want
}

test_no_form[note] if {
	some note, value in {"a list": ["a"], "an object": {"a": 1}}
	not text.form(value)
}

test_numeric[note] if {
	some note, row in {
		"a number": {"value": 1.5, "want": 1.5},
		"a text": {"value": "15", "want": 15},
		"a sign": {"value": "+15", "want": 15},
		"a fraction": {"value": "-0.5", "want": -0.5},
		"an exponent": {"value": "1e2", "want": 100},
		"zeros in front": {"value": "007", "want": 7},
		"zero": {"value": "-00", "want": 0},
		"a point in front": {"value": "-.50", "want": -0.5},
		"a point behind": {"value": "5.e+1", "want": 50},
		"beyond a double": {"value": "1e400", "want": 1e400},
		"beyond a double below zero": {"value": "-00.10e999", "want": -1e998},
		"as long as a number may be": {"value": _digits(128), "want": json.unmarshal(_digits(128))},
	}
	text.number(row.value) == row.want
}

test_not_numeric[note] if {
	some note, value in {
		"empty": "", "a word": "x", "a unit": "5Gi", "hexadecimal": "0x10", "infinite": "Inf", "a blank": " 5",
		"too long": _digits(129), "four digits of an exponent": "1e1000", "a point": ".", "two signs": "++5",
		"true": true, "null": null, "two lines": "5\n", "an invalid digit": "٥",
	}
	not text.number(value)
}

_digits(n) := concat("", ["9" | some _ in numbers.range(1, n)])

test_rounded[note] if {
	some note, row in {
		"whole": {"value": 3, "want": 3},
		"thirds": {"value": 1 / 3, "want": 0.3333333333333333},
		"a sum": {"value": sum([0.1, 0.2]), "want": 0.3},
		"beyond 53 bits": {"value": 9007199254740993, "want": 9007199254740993},
		"beyond 64 bits": {"value": -98765432109876543210987, "want": -98765432109876543210987},
		"beyond a double": {"value": 1e400, "want": 1e400},
	}
	text.rounded(row.value) == row.want
}
