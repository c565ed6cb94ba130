package writ.cel_test

import data.writ.cel

test_logic[note] if {
	some note, row in {
		"not": [cel.inverse(true), false],
		"not of a number": [cel.inverse(1), cel.error],
		"and: false settles it": [cel.conjunction([cel.error, false]), false],
		"and: the first failure": [cel.conjunction([true, cel.missing, cel.error]), cel.missing],
		"and: no bool": [cel.conjunction([true, 1, cel.missing]), cel.error],
		"or: true settles it": [cel.disjunction([cel.missing, true]), true],
		"or: the first failure": [cel.disjunction([cel.error, cel.missing, false]), cel.error],
		"or of none": [cel.disjunction([]), false],
		"choice": [cel.choice(true, 1, cel.error), 1],
		"the other": [cel.choice(false, cel.error, null), null],
		"choice by what is missing": [cel.choice(cel.missing, 1, 2), cel.missing],
		"just one": [cel.single([true, false]), true],
		"two": [cel.single([true, true]), false],
		"one, the last failure": [cel.single([cel.missing, true, cel.error, false]), cel.error],
		"selected": [cel.selected([[true, 1], [false, cel.error], [true, 3]]), [1, 3]],
		"selected, a failed value": [cel.selected([[true, cel.missing], [true, cel.error]]), cel.missing],
		"selected, a failed term counts over it": [cel.selected([[true, cel.missing], [cel.error, 1]]), cel.error],
		"keys": [cel.elements({"b": 1, "a": 2}), ["a", "b"]],
		"over a number": [cel.over(1, true), cel.error],
		"over an empty string": [cel.over("", true), true],
		"over what is missing": [cel.over(cel.missing, true), cel.missing],
	}
	row[0] == row[1]
}

test_order[note] if {
	some note, row in {
		"equal over the kinds of numbers": [cel.same(1, {["double", 1]}), true],
		"equal, of other types": [cel.same(1, "1"), false],
		"equal to what failed": [cel.same("x", cel.error), cel.error],
		"different": [cel.differs([1], [2]), true],
		"less": [cel.less(1, 1.5), true],
		"less, of a double": [cel.less({["double", 2]}, 1), false],
		"texts": [cel.at_most("a", "b"), true],
		"bools": [cel.greater(true, false), true],
		"times": [cel.at_least({["timestamp", 2]}, {["timestamp", 2]}), true],
		"a time and a duration": [cel.less({["timestamp", 2]}, {["duration", 3]}), cel.error],
		"a text and a number": [cel.less("1", 2), cel.error],
		"null": [cel.less(null, 2), cel.error],
	}
	row[0] == row[1]
}
