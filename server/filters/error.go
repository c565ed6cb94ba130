package filters

import (
	"bytes"
	"encoding/json"

	"github.com/writ-policy/writ/analysis/filter"
)

// CodeUntranslatable is the code of a filter that a target cannot say exactly.
const CodeUntranslatable = "untranslatable"

// AppendError appends an error as an object with the one member "error".
func AppendError(b []byte, e *filter.UntranslatableError) []byte {
	return append(b, bytes.TrimSpace(Encode(map[string]any{"error": map[string]any{
		"code": CodeUntranslatable, "message": e.Error(), "untranslatable": e.Constructs,
	}}))...)
}

// Encode returns an answer as a line of JSON, in which < and > are as they are.
func Encode(answer any) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(answer); err != nil {
		panic(err) // strings, numbers and lists
	}
	return out.Bytes()
}
