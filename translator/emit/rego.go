package emit

import (
	"bytes"
	"encoding/json"
)

// Marshal is JSON with sorted keys, a line end, and text as it is written.
func Marshal(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
