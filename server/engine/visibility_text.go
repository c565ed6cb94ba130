package engine

import (
	"encoding/json"
	"strconv"
)

// textForm is a field's value as criteria compare it; false for what has none.
// What is missing is the empty text.
func textForm(value any) (string, bool) {
	switch v := value.(type) {
	case nil:
		return "", true
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case json.Number:
		return newDecimal(string(v)).plain(), true
	}
	return "", false
}
