package jsontext

import (
	"bytes"
	"encoding/json"
)

// Append appends the JSON of a value, in which < and > are as they are. It panics for a value
// that has no form in JSON: callers have texts, numbers, lists, and what was read from JSON.
func Append(b []byte, value any) []byte {
	out := bytes.NewBuffer(b)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// Encode returns the JSON of a value as Append does.
func Encode(value any) []byte { return Append(nil, value) }

// Line is Encode with the end of a line.
func Line(value any) []byte { return append(Encode(value), '\n') }

// Marshal is json.Marshal for a value that has a form in JSON. It panics for others.
func Marshal(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return text
}
