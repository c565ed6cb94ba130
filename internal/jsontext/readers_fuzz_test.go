package jsontext

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// FuzzReaders compares all ways to read a checked text with what encoding/json makes of it, and with
// each other.
func FuzzReaders(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,-0.5e+9,true,null,{"b":{}}],"é":"\ud83d\ude00\u0000\""}`, ` [ [] , {} ,"]",[1,{"b":[2]},"}\""] ] `, `"\\\""`, ` 7 `,
		`{"\u0061":1,"":"","b\\":[[[]]],"c":"\u202e` + "\u202e" + `"}`, `{"a":{"a":{"a":{}}}}`, "[\"\u0085\u2028\u200b\",0.0e-0]", `{"a":"\\","b":"\\\\\"","c":",]}"}`,
	} {
		f.Add([]byte(seed))
	}
	var reused Document
	f.Fuzz(func(t *testing.T, data []byte) {
		if Check(data, Limits{}) != nil {
			return
		}
		want := decoded(t, data)
		wantEqual(t, data, "of cut texts", readCut(t, bytes.TrimSpace(data)), want)
		value, count, err := reused.Parse(string(data), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		wantEqual(t, data, "of a document that is used again", value.Any(), want)
		if got := countOf(want); got != count {
			t.Fatalf("%q: got %d values, want %d", data, count, got)
		}
		if value.String() != strings.TrimSpace(string(data)) {
			t.Fatalf("%q: the whole is %q", data, value.String())
		}
		for key, member := range value.Members() {
			if found := value.Member(key); found.String() != member.String() {
				t.Fatalf("%q: member %q is %q, want %q", data, key, found.String(), member.String())
			}
		}
		escaped := EscapeControls(data)
		if err := Check(escaped, Limits{}); err != nil || bytes.ContainsFunc(escaped, func(r rune) bool { return Acts(r) && r >= 0x7f }) {
			t.Fatalf("%q: got %q, %v", data, escaped, err)
		}
		wantEqual(t, data, "with escapes", ValueOf(string(escaped)).Any(), want)
		wantEqual(t, data, "written again", ValueOf(string(Encode(want))).Any(), want)
	})
}

func wantEqual(t *testing.T, data []byte, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%q %s: got %#v, want %#v", data, what, got, want)
	}
}

// readCut reads a value by Members, Elements and Tokens.
func readCut(t *testing.T, text []byte) any {
	t.Helper()
	switch text[0] {
	case '{':
		object := map[string]any{}
		for key, value := range Members(text) {
			object[key] = readCut(t, value)
		}
		return object
	case '[':
		list := []any{}
		for element := range Elements(text) {
			list = append(list, readCut(t, element))
		}
		return list
	}
	tokens := TokensOf(text)
	token := tokens.Next()
	if token.Start != 0 || token.End != len(text) {
		t.Fatalf("%q: got a token from %d to %d", text, token.Start, token.End)
	}
	switch token.Kind {
	case '"':
		return tokens.Text(token)
	case 't', 'f':
		return token.Kind == 't'
	case 'n':
		return nil
	}
	return json.Number(tokens.Raw(token))
}

func countOf(value any) int {
	count := 1
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			count += countOf(element)
		}
	case map[string]any:
		for _, member := range value {
			count += countOf(member)
		}
	}
	return count
}
