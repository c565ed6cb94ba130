package jsontext

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCheckRejects(t *testing.T) {
	for _, test := range []struct {
		name, text string
		limits     Limits
		code       Code
		offset     int
	}{
		{"no text", "", Limits{}, Empty, 0},
		{"space alone", " \n", Limits{}, Empty, 2},
		{"a word", "[nul]", Limits{}, ExpectedValue, 1},
		{"the end for a value", "[1,", Limits{}, ExpectedValue, 3},
		{"a comma too many", `{"a":1,}`, Limits{}, ExpectedKey, 7},
		{"no colon", `{"a" 1}`, Limits{}, ExpectedColon, 5},
		{"brackets crossed", `{"a":1]`, Limits{}, ExpectedBrace, 6},
		{"an open array", `[1`, Limits{}, ExpectedBracket, 2},
		{"a leading zero", `[01]`, Limits{}, ExpectedBracket, 2},
		{"a lone minus", `[-]`, Limits{}, ExpectedDigit, 2},
		{"no fraction", `1.`, Limits{}, ExpectedDigit, 2},
		{"two values", `1 2`, Limits{}, TrailingText, 2},
		{"an open string", `"a`, Limits{}, UnclosedString, 2},
		{"a backslash at the end", `"a\`, Limits{}, UnclosedString, 2},
		{"a line break in a string", "\"a\n\"", Limits{}, ControlCharacter, 2},
		{"an unknown escape", `"\x"`, Limits{}, InvalidEscape, 2},
		{"too few digits", `"\u12"`, Limits{}, invalidUnicodeEscape, 1},
		{"a high surrogate alone", `"\ud83d"`, Limits{}, LoneSurrogate, 1},
		{"a low surrogate first", `"\ude00\ud83d"`, Limits{}, LoneSurrogate, 1},
		{"a byte that is not UTF-8", "\"\xff\"", Limits{}, InvalidUTF8, 1},
		{"such a byte outside of strings", "[\xff]", Limits{}, InvalidUTF8, 1},
		{"129 levels", strings.Repeat("[", 129), Limits{}, TooDeep, 128},
		{"three levels of two", "[[[]]]", Limits{Depth: 2}, TooDeep, 2},
		{"a value too many", `{"a":[1,{}],"b":2}`, Limits{Values: 4}, TooManyValues, 16},
		{"a long number", strings.Repeat("1", 129), Limits{}, NumberTooLong, 0},
		{"a long exponent", "[1e1000]", Limits{}, ExponentTooLong, 1},
		{"a key twice", `[{"a":1,"b":2,"a":3}]`, Limits{}, DuplicateKey, 14},
		{"a key twice, once escaped", `{"a":1,"\u0061":3}`, Limits{}, DuplicateKey, 7},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := Check([]byte(test.text), test.limits)
			if err == nil || err.Code != test.code || err.Offset != test.offset {
				t.Fatalf("got %+v, want code %d at %d", err, test.code, test.offset)
			}
			if err.Message() == "" || err.Error() == "" {
				t.Error("the error has no message")
			}
		})
	}
}

func TestCheckAcceptsBeyondDefaultsOnRequest(t *testing.T) {
	text := `{"a":1e9999,"a":` + strings.Repeat("1", 500) + `}`
	if err := Check([]byte(text), Limits{LongNumbers: true, DuplicateKeys: true}); err != nil {
		t.Fatal(err)
	}
}

func TestParseCounts(t *testing.T) {
	for _, tt := range []struct {
		text string
		want int
	}{{`1`, 1}, {` "a" `, 1}, {`{}`, 1}, {`[[],[]]`, 3}, {`{"a":[1,{}],"b":2}`, 5}} {
		_, got, err := new(Document).Parse(tt.text, Limits{Values: tt.want})
		if got != tt.want || err != nil {
			t.Errorf("%s: got %d, %v, want %d", tt.text, got, err, tt.want)
		}
	}
}

func TestTokens(t *testing.T) {
	text := []byte(` {"a\n" : [ -1.5e3, true,null ], "b":{}} `)
	if err := Check(text, Limits{}); err != nil {
		t.Fatal(err)
	}
	tokens := TokensOf(text)
	var got []string
	for range 10 {
		token := tokens.Next()
		got = append(got, tokens.Raw(token))
		if token.Kind != text[token.Start] {
			t.Errorf("kind %q at %d", token.Kind, token.Start)
		}
	}
	want := []string{"{", `"a\n"`, "[", "-1.5e3", "true", "null", "]", `"b"`, "{", "}"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// FuzzCheck compares with encoding/json: what Check accepts has the same value there,
// and what it rejects is not JSON there either, unless Check is stricter on purpose.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,-0.5e+9,true,null,{"b":{}}],"é":"\ud83d\ude00\u0000\""}`, ` [1, 2] `, `"\ud800"`,
		`{"\u0061":1,"a":2}`, "{\"a\":\"\xff\"}", `01`, `-`, `1.`, `[[[[`, `nul`, `{"a":1]`, `1e9999`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := Check(data, Limits{}); err != nil {
			stricter := err.Code >= LoneSurrogate
			if json.Valid(data) && utf8.Valid(data) && !stricter {
				t.Fatalf("%q: %v", data, err)
			}
			return
		}
		want := decoded(t, data)
		if got := ValueOf(string(data)).Any(); !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: got %#v, want %#v", data, got, want)
		}
		if text, ok := want.(string); ok {
			quoted := AppendString(nil, text)
			if err := Check(quoted, Limits{}); err != nil {
				t.Fatalf("%q: %v", quoted, err)
			}
			if got, _ := ValueOf(string(quoted)).Text(); got != text {
				t.Fatalf("got %q, want %q", got, text)
			}
		}
	})
}

// BenchmarkCheck reads a request as each decision does.
func BenchmarkCheck(b *testing.B) {
	text := `{"user":"clark","groups":["dev","system:authenticated"],"extra":{"scopes":["a\"b"]},` +
		`"verb":"get","apiGroup":"apps","resource":"deployments","namespace":"team-a","name":"web",` +
		`"attributes":{"mfa":true,"n":12.5,"deep":{"a":[1,2,3,{"b":"c\u00e9"}]}}}`
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	var d Document
	for b.Loop() {
		value, _, err := d.Parse(text, Limits{})
		if err != nil {
			b.Fatal(err)
		}
		for _, member := range value.Members() {
			member.Text()
		}
	}
}

// decoded returns a text that was accepted as encoding/json decodes it.
func decoded(t *testing.T, data []byte) (value any) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		t.Fatalf("%q: accepted: %v", data, err)
	}
	return value
}
