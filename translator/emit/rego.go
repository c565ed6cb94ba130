package emit

import (
	"bytes"
	"encoding/json"
)

// Marshal returns JSON with sorted keys and a final newline, without escaping HTML. It
// returns an error if v has no JSON form.
func Marshal(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
