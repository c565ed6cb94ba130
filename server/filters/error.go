package filters

import (
	"github.com/writ-policy/writ/analysis/filter"
	"github.com/writ-policy/writ/internal/jsontext"
)

// CodeUntranslatable is the code of a filter that a target cannot say exactly.
const CodeUntranslatable = "untranslatable"

// AppendError appends an error as an object with the one member "error".
func AppendError(b []byte, e *filter.UntranslatableError) []byte {
	return append(b, jsontext.Encode(map[string]any{"error": map[string]any{
		"code": CodeUntranslatable, "message": e.Error(), "untranslatable": e.Constructs,
	}})...)
}
