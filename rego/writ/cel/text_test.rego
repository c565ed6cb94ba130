package writ.cel_test

import data.writ.cel

test_texts[note] if {
	some note, row in {
		"prefix": [cel.starts_with("abc", "ab"), true],
		"prefix of a number": [cel.starts_with(1, "ab"), cel.error],
		"suffix": [cel.ends_with("abc", "ab"), false],
		"within": [cel.includes("abc", "b"), true],
		"expression": [cel.matches("abc", "b+"), true],
		"no expression": [cel.matches("abc", "["), cel.error],
		"lower, ASCII alone": [cel.lower_ascii("AB A ÉB"), "ab a Éb"],
		"upper": [cel.upper_ascii("ab aé"), "AB Aé"],
		"trimmed": [cel.trimmed("\t a "), "a"],
		"reversed": [cel.reversed("aé"), "éa"],
		"parts": [cel.parts("a,b,c", ",", -1), ["a", "b", "c"]],
		"two parts": [cel.parts("a,b,c", ",", 2), ["a", "b,c"]],
		"no parts": [cel.parts("a,b,c", ",", 0), []],
		"joined": [cel.joined(["a", "b"], "-"), "a-b"],
		"numbers joined": [cel.joined([1], "-"), cel.error],
		"replaced": [cel.replaced("aaa", "a", "b", -1), "bbb"],
		"replaced once": [cel.replaced("aaa", "a", "b", 1), "baa"],
		"nothing replaced": [cel.replaced("ab", "", "-", -1), "-a-b-"],
		"part": [cel.part("aéb", 1, 2), "é"],
		"part beyond the end": [cel.part("ab", 1, 3), cel.error],
		"part the wrong way": [cel.part("ab", 2, 1), cel.error],
		"rest": [cel.rest("ab", 2), ""],
		"character": [cel.char_at("ab", 1), "b"],
		"character at the end": [cel.char_at("ab", 2), ""],
		"character beyond": [cel.char_at("ab", 3), cel.error],
		"found": [cel.index_of("éaba", "a", 2), 3],
		"not found": [cel.index_of("ab", "c", 0), -1],
		"nothing found at once": [cel.index_of("ab", "", 5), 2],
		"found from before": [cel.index_of("ab", "a", -1), cel.error],
		"last": [cel.last_index_of("aba", "a"), 2],
		"positions written with a fraction": [cel.part("aéb", 1.0, 2e0), "é"],
		"found from a position with a fraction": [cel.index_of("aba", "a", 1.0), 2],
		"a limit written with a fraction": [cel.parts("a,b,c", ",", 2.0), ["a", "b,c"]],
		"last, over another": [cel.last_index_of("aaa", "aa"), 1],
		"no last": [cel.last_index_of("b", "a"), -1],
	}
	row[0] == row[1]
}
