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
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(map[string]any{"error": map[string]any{
		"code": CodeUntranslatable, "message": e.Error(), "untranslatable": e.Constructs,
	}}); err != nil {
		panic(err) // it is made of texts
	}
	return append(b, bytes.TrimSpace(out.Bytes())...)
}
