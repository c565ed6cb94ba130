package syntax

import (
	"strings"
	"testing"
)

// read parses the documents of a YAML text; errors end up in the list.
func read(t *testing.T, file, content string) (roots []*Node, errs []syntaxError) {
	t.Helper()
	clean, err := Readable([]byte(content))
	if err != nil {
		return nil, []syntaxError{*err}
	}
	parts, err := split(clean)
	if err != nil {
		return nil, []syntaxError{*err}
	}
	for _, p := range cutObjects(file, parts) {
		var found flaws
		root, err := parse(file, p, &found)
		for _, list := range found.by {
			for _, f := range list {
				errs = append(errs, f.syntaxError)
			}
		}
		if err != nil {
			errs = append(errs, *err)
		}
		if root != nil {
			roots = append(roots, root)
		}
	}
	return roots, errs
}

func TestSplit(t *testing.T) {
	tests := []struct {
		name, text string
		want       []part
	}{
		{"one", "a: b\n", []part{{content: []byte("a: b\n"), line: 1}}},
		{"nothing", "", nil},
		{"only comments and markers", "# a\n---\n\n--- # b\n...\n---\n", nil},
		{"two", "a\n---\nb\n", []part{{content: []byte("a\n"), line: 1}, {content: []byte("---\nb\n"), line: 2}}},
		{"CR LF", "a\r\n---\r\nb\r\n", []part{{content: []byte("a\r\n"), line: 1}, {content: []byte("---\r\nb\r\n"), line: 2}}},
		{"CR", "a\r---\rb\r", []part{{content: []byte("a\r"), line: 1}, {content: []byte("---\rb\r"), line: 2}}},
		{"text beside the marker", "--- a\n--- b", []part{{content: []byte("--- a\n"), line: 1}, {content: []byte("--- b"), line: 2}}},
		{"no markers", "----\n--a\n ---\na---\n", []part{{content: []byte("----\n--a\n ---\na---\n"), line: 1}}},
		{"an end", "a\n...\nb\n", []part{{content: []byte("a\n"), line: 1}, {content: []byte("b\n"), line: 3}}},
		{"directives", "%YAML 1.2\n%TAG ! x\n---\na\n", []part{{content: []byte("---\na\n"), line: 3}}},
		{"directives after an end", "a\n...\n%YAML 1.1\n---\nb\n", []part{{content: []byte("a\n"), line: 1}, {content: []byte("---\nb\n"), line: 4}}},
		{"a block scalar", "a: |\n  ---\n  b\n---\nc\n", []part{{content: []byte("a: |\n  ---\n  b\n"), line: 1}, {content: []byte("---\nc\n"), line: 4}}},
		{"no end of line", "a\n---", []part{{content: []byte("a\n"), line: 1}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := split([]byte(test.text))
			if err != nil {
				t.Fatal(err.Message)
			}
			if len(got) != len(test.want) {
				t.Fatalf("got %d parts, want %d", len(got), len(test.want))
			}
			for i := range got {
				if string(got[i].content) != string(test.want[i].content) || got[i].line != test.want[i].line {
					t.Errorf("part %d: got %d %q, want %d %q", i, got[i].line, got[i].content, test.want[i].line, test.want[i].content)
				}
			}
		})
	}
}

// Scalars are those of YAML 1.2, whatever YAML 1.1 or other readers make of them.
func TestScalars(t *testing.T) {
	kinds := map[Type][]string{
		null:    {"", "~", "null", "Null", "NULL", "!!null null"},
		Boolean: {"true", "True", "TRUE", "false", "False", "FALSE", "!!bool true"},
		Integer: {"0", "7", "-7", "+7", "007", "0x1F", "0o17", "12345678901234567890"},
		float:   {"1.5", ".5", "5.", "1e3", "-1.5E-3", ".inf", "-.Inf", ".NaN", "!!float 1"},
		String: {
			"yes", "no", "on", "off", "y", "N", "nulL", "tRue", "1_000", "0b1", "12:30:45", "2026-01-20",
			"2026-01-20T10:00:00Z", "0x", "1e", "a", "'7'", `"true"`, `""`, "!!str 7", "!!str", "=", "<", ". 5",
		},
	}
	for want, values := range kinds {
		for _, value := range values {
			roots, errs := read(t, "f.yaml", "a: "+value+"\n")
			if len(errs) > 0 || len(roots) != 1 {
				t.Errorf("%s: %v", value, errs)
				continue
			}
			if got := roots[0].Fields[0].Value.Type; got != want {
				t.Errorf("%s: got %v, want %v", value, got, want)
			}
		}
	}
}

func TestAliases(t *testing.T) {
	roots, errs := read(t, "f.yaml", "a: &x {k: [1, &y 2]}\nb: *x\nc: *y\nd: {<<: *x, k: own}\ne: {<<: [*x, {k: later, l: 1}, {m: 2}]}\n*y : key\n")
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	value := func(name string) *Node { return roots[0].Find(name, false).Value }
	if value("b") != value("a") {
		t.Error("an alias is not what its anchor names")
	}
	if got := value("c"); got.Value != "2" || got.Line != 1 {
		t.Errorf("an inner anchor: got %+v", got)
	}
	if got := value("d").Fields; len(got) != 1 || got[0].Value.Value != "own" {
		t.Errorf("a merge over an own key: got %+v", got)
	}
	if got := value("e").Fields; len(got) != 3 || got[0].Value.Type != List || got[1].Value.Value != "1" || got[2].Key.Value != "m" {
		t.Errorf("merges: got %+v", got)
	}
	if value("2") == nil {
		t.Error("an alias as a key is lost")
	}
}

func TestSyntaxErrors(t *testing.T) {
	tests := []struct {
		name, file, text string
		line, column     int
		want             string
	}{
		{"an alias into another document", "f.yaml", "a: &x 1\n---\nb: *x\n", 3, 4, "unknown anchor 'x'"},
		{"an alias after others like it", "f.yaml", "# *x\na: &xy 1\nb: [*xy, é*x, *x]\n", 3, 15, "unknown anchor 'x'"},
		{"an unclosed bracket after CR", "f.yaml", "a: 1\rb: [c,\rd: e\r", 2, 4, "did not find expected ',' or ']'"},
		{"a stray bracket after CR", "f.yaml", "a: 1\rb:\r  c: 2\r  ]\r", 4, 3, "did not find expected key"},
		{"an alias inside itself", "f.yaml", "a: &x [*x]\n", 1, 8, "inside what it stands for"},
		{"a tag of one's own", "f.yaml", "a: !x 1\n", 1, 4, `tag "!x" is not known`},
		{"a binary", "f.yaml", "a: !!binary aGVsbG8=\n", 1, 4, "!!binary"},
		{"a tag that lies", "f.yaml", "a: !!int x\n", 1, 4, `"x" is not !!int`},
		{"a list tag on a scalar", "f.yaml", "a: !!seq x\n", 1, 4, "does not fit"},
		{"a set", "f.yaml", "a: !!set {b: null}\n", 1, 4, "!!set"},
		{"a mapping as key", "f.yaml", "{a: b}: c\n", 1, 1, "a mapping as a key"},
		{"null as key", "f.yaml", "a: 1\n~: c\n", 2, 1, "null as a key"},
		{"a merge of a string", "f.yaml", "a: {<<: b}\n", 1, 9, "the value of a merge key must be a mapping"},
		{"a merge of strings", "f.yaml", "a: {<<: [b]}\n", 1, 10, "the values of a merge key must be mappings"},
		{"a duplicate key", "f.yaml", "a: 1\nb: 2\n\"a\": 3\n", 3, 1, `duplicate key "a", first on line 1`},
		{"a merge key twice", "f.yaml", "a: &x {b: 1}\nc:\n  <<: *x\n  <<: {d: 2}\n", 4, 3, `duplicate key "<<", first on line 3`},
		{"a duplicate among many", "f.yaml", "a: 1\n" + manyKeys(40) + "a: 2\n", 42, 1, `duplicate key "a"`},
		{"text after the document", "f.yaml", "'a' 'b'\n", 1, 1, "did not find expected <document start>"},
		{"text after an end", "f.yaml", "a: 1\n... b\n", 2, 5, "text after the end marker"},
		{"a version of tomorrow", "f.yaml", "%YAML 2.0\n---\na: 1\n", 1, 1, "%YAML"},
		{"a control character", "f.yaml", "a: 1\nb: \x01\n", 2, 4, "U+0001"},
		{"DEL", "f.yaml", "a: \x7f\n", 1, 4, "U+007F"},
		{"a C1 character", "f.yaml", "a: \u0085\n", 1, 4, "U+0085"},
		{"a line separator hides a line", "f.yaml", "a: 1 # ü\u2028b: 2\n", 1, 9, "U+2028"},
		{"a byte order mark inside", "f.yaml", "a: 1\n\ufeff---\nb: 1\n", 2, 1, "U+FEFF"},
		{"no UTF-8", "f.yaml", "a: é\xe9\n", 1, 5, "0xE9 is not UTF-8"},
		{"UTF-16", "f.yaml", "\xff\xfea\x00", 1, 1, "0xFF is not UTF-8"},
		{"a surrogate in UTF-8", "f.yaml", "a: \xed\xa0\x80\n", 1, 4, "0xED is not UTF-8"},
		{"an unclosed bracket", "f.yaml", "a: 1\nb: [c,\nd: e\n", 2, 4, "did not find expected ',' or ']'"},
		{"an unclosed quote", "f.yaml", "a: 1\nb: \"c\n\nd: e\n", 2, 4, "unexpected end of stream"},
		{"a tab", "f.yaml", "a:\n\tb: c\n", 2, 1, "cannot start any token"},
		{"a stray bracket", "f.yaml", "a: 1\nb:\n  c: 2\n  ]\n", 4, 3, "did not find expected key"},
		{"a star", "f.yaml", "a: 1\nb: [x, *]\n", 2, 8, "alphabetic or numeric"},
		{"a mapping in a list", "f.yaml", "a:\n  - b\n  c: d\n", 3, 3, "did not find expected '-' indicator"},

		{"JSON: nothing but an object after an object", "f.json", "{} []", 1, 4, `text after the value, from "["`},
		{"JSON: a comment", "f.json", "{} # no", 1, 4, "text after the value"},
		{"JSON: single quotes", "f.json", "{'a': 1}", 1, 2, `a key in double quotes is expected, not "'"`},
		{"JSON: a trailing comma", "f.json", `{"a": [1,]}`, 1, 10, "a value is expected"},
		{"JSON: a comma before the end", "f.json", `{"a": 1,}`, 1, 9, "a key in double quotes"},
		{"JSON: no colon", "f.json", `{"a" 1}`, 1, 6, `":" is expected`},
		{"JSON: no comma", "f.json", "{\"a\": 1\n\"b\": 2}", 2, 1, `"," or "}" is expected`},
		{"JSON: no comma in a list", "f.json", `["a" "b"]`, 1, 6, `"," or "]" is expected`},
		{"JSON: not closed", "f.json", "{\"a\": [1\n", 2, 1, "the end of the text"},
		{"JSON: no value", "f.json", "{\"a\":", 1, 6, "a value is missing"},
		{"JSON: a string not closed", "f.json", "{\"é\": \"a\nb\"}", 1, 9, "not closed on its line"},
		{"JSON: a string at the end", "f.json", `{"a": "b`, 1, 9, "the string is not closed"},
		{"JSON: a tab in a string", "f.json", "[\"a\tb\"]", 1, 4, "the string is not closed"},
		{"JSON: an escape", "f.json", `["a\x"]`, 1, 5, `"x" after a backslash`},
		{"JSON: half a pair", "f.json", `["\ud83d"]`, 1, 3, `\ud83d is half of a surrogate pair`},
		{"JSON: the other half", "f.json", `["\ude00\ud83d"]`, 1, 3, "half of a surrogate pair"},
		{"JSON: half a pair and text", "f.json", `["\ud83d\u0041"]`, 1, 3, "half of a surrogate pair"},
		{"JSON: hexadecimal", "f.json", `["\u00g0"]`, 1, 3, "four hexadecimal digits"},
		{"JSON: a leading zero", "f.json", `[01]`, 1, 3, `"," or "]" is expected`},
		{"JSON: a plus", "f.json", `[+1]`, 1, 2, "a value is expected"},
		{"JSON: a bare point", "f.json", `[1.]`, 1, 4, "a digit is expected"},
		{"JSON: a bare exponent", "f.json", `[1e]`, 1, 4, "a digit is expected"},
		{"JSON: a bare minus", "f.json", `[-]`, 1, 3, "a digit is expected"},
		{"JSON: NaN", "f.json", `[NaN]`, 1, 2, "a value is expected"},
		{"JSON: a duplicate key", "f.json", "{\"a\": 1,\n \"\\u0061\": 2}", 2, 2, `duplicate key "a", first on line 1`},
		{"JSON: in a YAML file half a surrogate pair is invalid too", "f.yaml", `{"a": "\ud83d"}`, 1, 8, "invalid Unicode character escape"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, errs := read(t, test.file, test.text)
			if len(errs) != 1 {
				t.Fatalf("got %d errors, want one: %+v", len(errs), errs)
			}
			got := errs[0]
			if !strings.Contains(got.Message, test.want) {
				t.Errorf("got %q, want %q", got.Message, test.want)
			}
			if got.Line != test.line || got.Column != test.column {
				t.Errorf("got %d:%d, want %d:%d: %s", got.Line, got.Column, test.line, test.column, got.Message)
			}
		})
	}
}

func manyKeys(n int) string {
	var out strings.Builder
	for i := range n {
		out.WriteString("k" + strings.Repeat("x", i) + ": 1\n")
	}
	return out.String()
}

func TestColumnsCountRunes(t *testing.T) {
	for file, text := range map[string]string{
		"f.yaml": "\ufeff\"ü😀\": [é, {ñ: here}]\n",
		"f.json": "\ufeff{\"ü😀\": [\"é\", {\"ñ\": \"here\"}]}",
	} {
		roots, errs := read(t, file, text)
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		here := roots[0].Fields[0].Value.Items[1].Fields[0].Value
		want := strings.Index("\"ü😀\": [é, {ñ: here}]", "here") // bytes: six more than runes
		want += 1 - 6
		if file == "f.json" {
			want = len([]rune("{\"ü😀\": [\"é\", {\"ñ\": ")) + 1
		}
		if here.Line != 1 || here.Column != want {
			t.Errorf("%s: got %d:%d, want 1:%d", file, here.Line, here.Column, want)
		}
	}
}
