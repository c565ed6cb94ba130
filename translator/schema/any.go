package schema

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Any is the schema of documents of several kinds. Documents of other kinds validate.
type Any []*Schema

// identifying are the fields by which the kind of a document is known.
var identifying = []string{"apiVersion", "kind"}

// MarshalJSON returns the schema. Each kind is a condition, and objects that occur in
// several places are definitions.
func (a Any) MarshalJSON() ([]byte, error) {
	definitions := make(map[string]any)
	all := make([]any, len(a))
	for i, s := range a {
		text, err := json.Marshal(s)
		if err != nil {
			return nil, err
		}
		var then any
		if err := json.Unmarshal(text, &then); err != nil {
			return nil, err
		}
		identity := make(map[string]*Schema)
		for _, name := range identifying {
			identity[name] = s.Properties[name]
		}
		all[i] = map[string]any{"if": map[string]any{"properties": identity, "required": identifying}, "then": shared(then, definitions)}
	}
	return json.Marshal(map[string]any{
		"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "allOf": all, "definitions": definitions,
	})
}

// shared replaces the objects in a schema by references to definitions, which it adds.
func shared(value any, definitions map[string]any) any {
	switch v := value.(type) {
	case []any:
		for i := range v {
			v[i] = shared(v[i], definitions)
		}
	case map[string]any:
		for name := range v {
			v[name] = shared(v[name], definitions)
		}
		if _, isSchema := v["properties"].(map[string]any); !isSchema || !isType(v["type"]) {
			return v
		}
		text, err := json.Marshal(v)
		if err != nil {
			panic(err) // it is decoded JSON
		}
		hash := sha256.Sum256(text)
		name := hex.EncodeToString(hash[:6])
		definitions[name] = v
		return map[string]any{"$ref": "#/definitions/" + name}
	}
	return value
}

// isType reports whether a value is that of the keyword type, and not the schema of a
// property with that name.
func isType(value any) bool {
	_, isMapping := value.(map[string]any)
	return value != nil && !isMapping
}
