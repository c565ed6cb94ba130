package visibility

import (
	"encoding/json"

	"github.com/writ-policy/writ/server/decision"
)

// textForm returns the text of a field's value that criteria are compared with; false for
// lists and objects, which have none. The text of a missing value is empty.
func textForm(value any) (string, bool) {
	if number, ok := value.(json.Number); ok {
		return newDecimal(string(number)).plain(), true
	}
	return decision.PlainText(value)
}
