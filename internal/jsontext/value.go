package jsontext

import (
	"encoding/json"
	"iter"
	"strings"
)

// Value is the text of one JSON value that Check accepted, without space around it.
// Its methods rely on that check and do not repeat it: they may panic on a Value made
// from anything else. The empty Value is absent and reads as null. A Value shares the
// memory of the text it was cut from.
type Value string

// Cut returns the value of a text that Check accepted. The bytes are copied once;
// everything read out of the Value is cut from that copy.
func Cut(checked []byte) Value { return Value(strings.Trim(string(checked), " \t\r\n")) }

// IsNull reports whether v is null.
func (v Value) IsNull() bool { return v == "" || v[0] == 'n' }

// IsObject reports whether v is an object.
func (v Value) IsObject() bool { return v != "" && v[0] == '{' }

// IsArray reports whether v is an array.
func (v Value) IsArray() bool { return v != "" && v[0] == '[' }

// IsBool reports whether v is true or false.
func (v Value) IsBool() bool { return v != "" && (v[0] == 't' || v[0] == 'f') }

// IsNumber reports whether v is a number.
func (v Value) IsNumber() bool { return v != "" && (v[0] == '-' || '0' <= v[0] && v[0] <= '9') }

// Text returns the string that v is, and false if v is not a string.
func (v Value) Text() (string, bool) {
	if v == "" || v[0] != '"' {
		return "", false
	}
	return unescape(string(v[1 : len(v)-1])), true
}

// Members iterates over the keys and values of an object, in the order written.
// Other values have none.
func (v Value) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) { members(string(v), yield) }
}

// Elements iterates over the values of an array. Other values have none.
func (v Value) Elements() iter.Seq[Value] {
	return func(yield func(Value) bool) { elements(string(v), yield) }
}

func members(s string, yield func(string, Value) bool) {
	if s == "" || s[0] != '{' {
		return
	}
	for i := space(s, 1); s[i] != '}'; i = space(s, i) {
		if s[i] == ',' {
			i = space(s, i+1)
		}
		end := stringEnd(s, i)
		key := unescape(s[i+1 : end-1])
		i = space(s, space(s, end)+1) // over the colon
		end = valueEnd(s, i)
		if !yield(key, Value(s[i:end])) {
			return
		}
		i = end
	}
}

func elements(s string, yield func(Value) bool) {
	if s == "" || s[0] != '[' {
		return
	}
	for i := space(s, 1); s[i] != ']'; i = space(s, i) {
		if s[i] == ',' {
			i = space(s, i+1)
		}
		end := valueEnd(s, i)
		if !yield(Value(s[i:end])) {
			return
		}
		i = end
	}
}

// Any returns v as encoding/json decodes it: nil, bool, json.Number (numbers keep
// the digits they were written with), string, []any or map[string]any.
func (v Value) Any() any {
	if v.IsNull() {
		return nil
	}
	switch v[0] {
	case 't', 'f':
		return v[0] == 't'
	case '"':
		text, _ := v.Text()
		return text
	case '[':
		list := []any{}
		for element := range v.Elements() {
			list = append(list, element.Any())
		}
		return list
	case '{':
		object := map[string]any{}
		for key, value := range v.Members() {
			object[key] = value.Any()
		}
		return object
	}
	return json.Number(v)
}

func space(s string, i int) int {
	for i < len(s) && isSpace(s[i]) {
		i++
	}
	return i
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// stringEnd returns where the string that begins at s[i] ends, past its quote.
func stringEnd[T string | []byte](s T, i int) int {
	for i++; s[i] != '"'; i++ {
		if s[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// valueEnd returns where the value that begins at s[i] ends.
func valueEnd[T string | []byte](s T, i int) int {
	depth := 0
	for i < len(s) {
		switch c := s[i]; {
		case c == '"':
			i = stringEnd(s, i)
			if depth == 0 {
				return i
			}
			continue
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth == 0 { // the end of what a bare literal stands in
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case depth == 0 && (c == ',' || isSpace(c)):
			return i
		}
		i++
	}
	return i
}
