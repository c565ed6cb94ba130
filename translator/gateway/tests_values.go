package gateway

import (
	"encoding/base64"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/writ-policy/writ/translator/cel"
	"github.com/writ-policy/writ/translator/regotext"
	"github.com/writ-policy/writ/translator/tables"
)

// sampleValues returns rows for values: what a rule that applies under conditions makes of
// them by compose. It returns none if a value is of a form that cannot be computed here.
func sampleValues(
	when []tables.RequestCondition, values map[string]*tables.RequestValue, compose func(values map[string]any) any,
) map[string]ruleRow {
	s := &sampler{samples: make(map[string]*cel.Sample)}
	if !s.conditions(when) {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !s.value(values[name]) {
			return nil
		}
	}
	return s.rows(func(input map[string]any) int {
		known := int(s.all(when, input))
		for _, value := range values {
			if s.valueOf(value, input) != nil {
				known++
			}
		}
		return known
	}, func(input map[string]any) []any {
		if s.all(when, input) == no {
			return []any{}
		}
		found := make(map[string]any, len(values))
		for name, value := range values {
			if found[name] = s.valueOf(value, input); !isKnown(found[name]) {
				return nil
			}
		}
		return []any{compose(found)}
	})
}

// value adds what a value reads. It returns false if it cannot be computed here.
func (s *sampler) value(v *tables.RequestValue) bool {
	var paths []*tables.SelectorPath
	switch {
	case v.Expression != "":
		return s.read(v.Expression)
	case v.Template != nil && v.Template.Path != nil:
		paths = append(paths, v.Template.Path)
	case v.Template != nil:
		for _, piece := range v.Template.Pieces {
			if piece.Path != nil {
				paths = append(paths, piece.Path)
			}
		}
	}
	for _, path := range paths {
		if !isPlain(path) {
			return false
		}
		s.addPath(path, "writ-other", []string{"writ-other"}, true, nil)
	}
	return true
}

// valueOf returns what a value comes to; nil also where an expression has none.
func (s *sampler) valueOf(v *tables.RequestValue, input map[string]any) any {
	switch {
	case v.Expression != "":
		value, _ := s.samples[v.Expression].Evaluate(input)
		return value
	case v.Template != nil && v.Template.Path != nil:
		return found(v.Template.Path, input)
	case v.Template != nil:
		var out strings.Builder
		for _, piece := range v.Template.Pieces {
			if out.WriteString(piece.Text); piece.Path != nil {
				out.WriteString(textOf(found(piece.Path, input)))
			}
		}
		return out.String()
	}
	return v.Value
}

// isKnown reports whether the text of a value is known here: a number has several spellings,
// and so has an object.
func isKnown(value any) bool {
	switch value.(type) {
	case nil, string, bool, int64, []string:
		return true
	}
	return false
}

// denialValues are the values of a denial, by what they are.
func denialValues(d *tables.GatewayDenial) map[string]*tables.RequestValue {
	values := map[string]*tables.RequestValue{"message": d.Message, "body": d.Body}
	maps.DeleteFunc(values, func(_ string, value *tables.RequestValue) bool { return value == nil })
	for name, value := range d.Headers {
		values["headers "+name] = &value
	}
	return values
}

// denialOf is the response of a denial with the values of denialValues.
func denialOf(d *tables.GatewayDenial, values map[string]any) any {
	want, headers := map[string]any{}, map[string]string{}
	if d.Code != 0 {
		want["code"] = d.Code
	}
	for name, value := range values {
		if header, isHeader := strings.CutPrefix(name, "headers "); isHeader {
			headers[header] = textOf(value)
		} else {
			want[name] = textOf(value)
		}
	}
	want["headers"] = headers
	return want
}

// itemValues are the values of an item of the response: one, or one for each property.
func itemValues(item *tables.GatewayItem) map[string]*tables.RequestValue {
	if item.Plain != nil {
		return map[string]*tables.RequestValue{"": item.Plain}
	}
	values := make(map[string]*tables.RequestValue, len(item.Properties))
	for name, value := range item.Properties {
		values[name] = &value
	}
	return values
}

func itemOf(item *tables.GatewayItem, values map[string]any) any {
	if item.Plain != nil {
		return values[""]
	}
	return values
}

// found returns the value at a path as its modifiers convert it, nil if the path leads
// nowhere.
func found(path *tables.SelectorPath, input map[string]any) any {
	var value any = input
	for _, step := range path.Steps {
		switch of := value.(type) {
		case map[string]any:
			value = of[step]
		case []string:
			at, isIndex := indexOf(step)
			if value = nil; isIndex && at < len(of) {
				value = of[at]
			}
		default:
			return nil
		}
	}
	if path.Length {
		elements, isList := value.([]string)
		if !isList {
			return nil
		}
		value = int64(len(elements))
	}
	for _, m := range path.Modifiers {
		if value == nil {
			return nil
		}
		value = modify(textOf(value), m)
	}
	return value
}

// modify returns a text as a modifier converts it, nil for one that it does not convert.
func modify(text string, m tables.Modifier) any {
	switch m.Name {
	case "extract":
		if parts := strings.Split(text, m.Sep); m.Pos < len(parts) {
			return parts[m.Pos]
		}
		return nil
	case "case":
		if m.Text == "upper" {
			return strings.ToUpper(text)
		}
		return strings.ToLower(text)
	case "replace":
		return strings.ReplaceAll(text, m.Old, m.New)
	case "base64":
		if m.Text == "encode" {
			return base64.StdEncoding.EncodeToString([]byte(text))
		}
		decoded, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
		if err != nil || !utf8.Valid(decoded) {
			return nil
		}
		return string(decoded)
	}
	return unprintable.ReplaceAllString(text, "")
}

var unprintable = regexp.MustCompile(`[^\pL\pM\pN\pP\pS ]`)

// textOf returns a value as a selector writes it: a text as it is, nothing for what is absent,
// all else as JSON.
func textOf(value any) string {
	switch value := value.(type) {
	case nil:
		return ""
	case string:
		return value
	case []string:
		return strings.ReplaceAll(regotext.Constant(value), `", "`, `","`)
	}
	return regotext.Constant(value)
}
