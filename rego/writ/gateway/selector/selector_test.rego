package writ.gateway.selector_test

import data.writ.gateway.selector

_value := {
	"auth": {"identity": {"roles": ["owner", "dev"], "0": "zero", "age": 3, "none": null}},
	"path": "/pets/42/x",
}

_step_rows := {
	"a member": {"of": _value.auth.identity, "name": "age", "want": [3]},
	"a member that looks like a number": {"of": _value.auth.identity, "name": "0", "want": ["zero"]},
	"an element": {"of": _value.auth.identity.roles, "name": "1", "want": ["dev"]},
	"an element past the end": {"of": _value.auth.identity.roles, "name": "2", "want": []},
	"a word into a list": {"of": _value.auth.identity.roles, "name": "dev", "want": []},
	"into a text": {"of": "owner", "name": "0", "want": []},
	"a missing member": {"of": _value, "name": "x", "want": []},
}

test_step[note] if {
	some note, row in _step_rows
	got := [found | found := selector.step(row.of, row.name)]
	got == row.want
}

_text_rows := {
	"text": {"of": "a", "want": "a"},
	"null": {"of": null, "want": ""},
	"a whole number": {"of": 3, "want": "3"},
	"a whole number written as a fraction": {"of": 3.0, "want": "3"},
	"a fraction": {"of": 0.25, "want": "0.25"},
	"a truth value": {"of": true, "want": "true"},
	"a list": {"of": ["a", 1], "want": `["a",1]`},
	"an object": {"of": {"b": 1, "a": null}, "want": `{"a":null,"b":1}`},
}

test_text[note] if {
	some note, row in _text_rows
	selector.text(row.of) == row.want
}

_element_rows := {
	"a list": {"of": ["a", 1], "want": ["a", "1"]},
	"a scalar is a list of one": {"of": 7, "want": ["7"]},
	"nothing": {"of": null, "want": []},
}

test_elements[note] if {
	some note, row in _element_rows
	selector.elements(row.of) == row.want
}

test_length if selector.length(["a", "b"]) == 2

test_length_of_no_list if not selector.length("ab")

test_extract if selector.extract("/pets/42/x", "/", 2) == "42"

test_extract_past_the_end if not selector.extract("a b", " ", 2)

test_cased if [selector.cased("aB", "upper"), selector.cased("aB", "lower")] == ["AB", "ab"]

test_replaced if selector.replaced("a-b-c", "-", "/") == "a/b/c"

_base64_rows := {
	"padded": {"of": "aGk=", "want": ["hi"]},
	"without padding": {"of": "aGk", "want": ["hi"]},
	"nothing": {"of": "", "want": [""]},
	"no base64": {"of": "a!", "want": []},
	"a wrong length": {"of": "aGkxa", "want": []},
}

test_base64_decode[note] if {
	some note, row in _base64_rows
	got := [text | text := selector.base64_of(row.of, "decode")]
	got == row.want
}

test_base64_encode if selector.base64_of("hi", "encode") == "aGk="

test_stripped if selector.stripped("a\r\nb\u0007 c") == "ab c"
