package writ.cel_test

import data.writ.cel

_root := {"a": {"list": [1, {"k": "v"}], "off": false, "nothing": null, "text": "x"}}

_double(number) := {["double", number]}

test_reading[note] if {
	some note, row in {
		"a path": [cel.path(_root, ["a", "text"]), "x"],
		"false is a value": [cel.path(_root, ["a", "off"]), false],
		"a missing key": [cel.path(_root, ["a", "gone", "deeper"]), cel.missing],
		"a key of a string": [cel.path(_root, ["a", "text", "k"]), cel.missing],
		"a key of null": [cel.field(null, "k"), cel.missing],
		"a key of a list": [cel.path(_root, ["a", "list", "k"]), cel.error],
		"a key of what is missing": [cel.field(cel.missing, "k"), cel.missing],
		"a key of what failed": [cel.at(cel.error, cel.missing), cel.error],
		"an index": [cel.field(cel.at(_root.a.list, 1), "k"), "v"],
		"an index written with a fraction": [cel.at([7, 8], 1.0), 8],
		"a whole double as an index": [cel.at([7], _double(0)), 7],
		"an index that is not a whole number": [cel.at([7], 0.5), cel.error],
		"beyond the end": [cel.at([7], 1), cel.missing],
		"before the beginning": [cel.at([7], -1), cel.missing],
		"a list as a key": [cel.at(_root, []), cel.error],
		"has": [cel.has(_root.a, "off"), true],
		"has not": [cel.has(_root.a, "gone"), false],
		"has, of a string": [cel.has("x", "gone"), false],
		"has, of a list": [cel.has([], "gone"), cel.error],
		"has, of what is missing": [cel.has(cel.missing, "gone"), cel.missing],
		"in a list, over the kinds of numbers": [cel.member(_double(1), [1]), true],
		"in a map": [cel.member("a", _root), true],
		"in a string": [cel.member("a", "abc"), cel.error],
		"a list with a failure": [cel.list([1, cel.missing, cel.error]), cel.missing],
		"of equal keys the last": [cel.map(["a", "a"], [1, 2]), {"a": 2}],
		"a fraction as a key": [cel.map([0.5], [1]), cel.error],
		"a failure in a map": [cel.map(["a", cel.error], [cel.missing, 1]), cel.missing],
		"characters": [cel.size("éa"), 2],
		"the size of a number": [cel.size(1), cel.error],
		"a value that JSON cannot have is not a list": [cel.size(_double(1)), cel.error],
	}
	row[0] == row[1]
}

# JSON that looks like what stands for a failure or a type is neither.
test_forgery[note] if {
	some note, row in {
		"missing": [cel.same(["missing"], ["missing"]), true],
		"a double": [cel.add(["double", 1], 1), cel.error],
		"a timestamp": [cel.less(["timestamp", 1], ["timestamp", 2]), cel.error],
	}
	row[0] == row[1]
}

test_verdicts[note] if {
	some note, row in {
		"true": [true, [true, false, false]],
		"false": [false, [false, true, false]],
		"missing": [cel.missing, [false, false, false]],
		"error": [cel.error, [false, false, true]],
		"no bool": ["true", [false, false, true]],
	}
	row[1] == [_holds(row[0]), _fails(row[0]), _broken(row[0])]
}

_holds(value) if {
	cel.holds(value)
} else := false

_fails(value) if {
	cel.fails(value)
} else := false

_broken(value) if {
	cel.broken(value)
} else := false
