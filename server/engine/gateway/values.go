package gateway

import (
	"encoding/json"
	"maps"
	"strconv"
	"strings"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/tables"
)

// isInteger reports whether a number is written as Rego writes an integer.
func isInteger(number json.Number) bool {
	n, err := strconv.ParseInt(number.String(), 10, 64)
	return err == nil && strconv.FormatInt(n, 10) == number.String()
}

// find returns what a path finds among values, nil where the path leads nowhere. It returns false
// if only Rego knows: for an index that is not written as an integer.
func find(value any, steps []string) (any, bool) {
	for _, step := range steps {
		switch v := value.(type) {
		case map[string]any:
			value = v[step]
		case []any:
			if !isInteger(json.Number(step)) {
				return nil, strings.Trim(step, "0123456789") != "" // such as 007
			}
			if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(v) {
				value = v[i]
				continue
			}
			return nil, true
		default:
			return nil, true
		}
	}
	return value, true
}

// textOf returns a value as conditions compare it. It returns false for a value whose text
// only Rego knows.
func textOf(value any) (string, bool) {
	switch v := value.(type) {
	case json.Number:
		return v.String(), isInteger(v)
	case map[string]any, []any:
		text, err := json.Marshal(v)
		return string(text), err == nil
	}
	return decision.PlainText(value)
}

// isOneOf reports whether a list has an element with a text; a scalar is a list of one.
func isOneOf(text string, value any) (found, ok bool) {
	if value == nil {
		return false, true
	}
	list, isList := value.([]any)
	if !isList {
		list = []any{value}
	}
	for _, element := range list {
		one, ok := textOf(element)
		if !ok {
			return false, false
		}
		found = found || one == text
	}
	return found, true
}

// union returns the union of two values, as OPA's object.union: objects are merged, and of
// other values the second one counts.
func union(a, b any) any {
	first, isFirst := a.(map[string]any)
	second, isSecond := b.(map[string]any)
	if !isFirst || !isSecond {
		return b
	}
	out := make(map[string]any, len(first)+len(second))
	maps.Copy(out, first)
	for key, value := range second {
		if before, found := out[key]; found {
			value = union(before, value)
		}
		out[key] = value
	}
	return out
}

// valueOf returns a value for a state. It returns false if only Rego knows.
func valueOf(v *tables.RequestValue, attributes map[string]any) (any, bool) {
	switch {
	case v.Template != nil:
		return fill(v.Template, attributes)
	case v.Expression != "":
		return nil, false
	}
	_, ok := textOf(v.Value) // Go and Rego write it alike
	return v.Value, ok
}

// fill returns what the path of a template finds, or the text with what several find.
func fill(t *tables.Template, attributes map[string]any) (any, bool) {
	if t.Path != nil {
		return findPath(t.Path, attributes)
	}
	var out strings.Builder
	for i := range t.Pieces {
		piece := &t.Pieces[i]
		text, ok := piece.Text, true
		if piece.Path != nil {
			var found any
			if found, ok = findPath(piece.Path, attributes); ok {
				text, ok = textOf(found)
			}
		}
		if !ok {
			return nil, false
		}
		out.WriteString(text)
	}
	return out.String(), true
}

// findPath returns what a path finds in a state. Lengths and modifiers are left to Rego.
func findPath(path *tables.SelectorPath, attributes map[string]any) (any, bool) {
	if len(path.Steps) == 0 || path.Length || len(path.Modifiers) > 0 {
		return nil, false
	}
	return find(attributes, path.Steps)
}
