package visibility

import (
	"encoding/json"
	"strconv"
)

// textForm returns the text of a field's value that criteria are compared with; false for
// lists and objects, which have none. The text of a missing value is empty.
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
