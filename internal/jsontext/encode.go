package jsontext

import (
	"bytes"
	"encoding/json"
)

// Line returns a value as a line of JSON, in which < and > are as they are. It panics for a value
// that has no form in JSON: callers have texts, numbers, lists, and what was read from JSON.
func Line(value any) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err)
	}
	return out.Bytes()
}

// Encode is Line without the end of the line.
func Encode(value any) []byte { return bytes.TrimSuffix(Line(value), []byte("\n")) }
