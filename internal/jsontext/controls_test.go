package jsontext

import (
	"encoding/json"
	"testing"
)

func TestEscapeControls(t *testing.T) {
	for given, want := range map[string]string{
		`{"a":"plain é 名"}`:                   `{"a":"plain é 名"}`,
		"{\"a\":\"\u009b31m\u202e\"}\n":       `{"a":"\u009b31m\u202e"}` + "\n",
		"[\"\x7f\u0085\u2028\u2066\u200f.\"]": `["\u007f\u0085\u2028\u2066\u200f."]`,
		"[\"\xff\"]":                          "[\"\xff\"]",
		"":                                    "",
	} {
		got := EscapeControls([]byte(given))
		if string(got) != want {
			t.Errorf("%q: got %q, want %q", given, got, want)
		}
		var before, after any
		if json.Unmarshal([]byte(given), &before) == nil && json.Unmarshal(got, &after) != nil {
			t.Errorf("%q: got %q, which is not JSON", given, got)
		}
	}
}
