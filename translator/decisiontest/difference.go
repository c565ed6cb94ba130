package decisiontest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Difference returns why the expected part of a decision is not a subset of it, or "" if it is. It
// returns an error if one of them is not JSON.
func Difference(want, got []byte) (string, error) {
	wanted, err := decodeJSON(want)
	if err != nil {
		return "", fmt.Errorf("expect: %w", err)
	}
	answer, err := decodeJSON(got)
	if err != nil {
		return "", fmt.Errorf("decision: %w", err)
	}
	return subset(wanted, answer, ""), nil
}

func decodeJSON(data []byte) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	err = decoder.Decode(&value)
	return value, err
}

// subset returns why want is not a subset of got, or "" if it is. Both are JSON values
// with numbers as json.Number. Objects are compared by the keys of want; an empty
// object, and the key "sources", must be equal. Lists are compared as sets of the same
// length: each element of want must be a subset of a different element of got. A
// missing key equals null and any empty value. The object {contains: [...]} in place of a
// list is compared with a list of any length. The key fooContains searches for texts
// in foo, ignoring case.
func subset(want, got any, at string) string {
	switch want := want.(type) {
	case map[string]any:
		part, isPart := want["contains"].([]any)
		if list, isList := got.([]any); isPart && isList && len(want) == 1 {
			return subsetPart(part, list, at)
		}
		return subsetObject(want, got, at)
	case []any:
		return subsetList(want, got, at)
	}
	if equalScalar(want, got) {
		return ""
	}
	return fmt.Sprintf("%s: got %s, want %s", place(at), show(got), show(want))
}

func subsetObject(want map[string]any, got any, at string) string {
	object, ok := got.(map[string]any)
	switch {
	case !ok:
		return fmt.Sprintf("%s: got %s, want an object", place(at), show(got))
	case len(want) == 0 && len(object) > 0:
		return fmt.Sprintf("%s: got %s, want {}", place(at), show(got))
	case strings.HasSuffix(at, ".sources") && len(want) != len(object):
		return fmt.Sprintf("%s: got keys %q, want %q", place(at), slices.Sorted(maps.Keys(object)), slices.Sorted(maps.Keys(want)))
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		value, found := object[key]
		base, contains := strings.CutSuffix(key, "Contains")
		var why string
		switch {
		case contains && !found:
			why = containsTexts(want[key], object[base], at+"."+base)
		case found:
			why = subset(want[key], value, at+"."+key)
		case !isEmpty(want[key]):
			why = fmt.Sprintf("%s.%s: missing, want %s", at, key, show(want[key]))
		}
		if why != "" {
			return why
		}
	}
	return ""
}

// subsetList assigns an element of got to each element of want. An element of got may
// match several of want, so assignments are revised (bipartite matching).
func subsetList(want []any, got any, at string) string {
	list, ok := got.([]any)
	if !ok || len(list) != len(want) {
		return fmt.Sprintf("%s: got %s, want %s", place(at), show(got), show(want))
	}
	return subsetPart(want, list, at)
}

// subsetPart is subsetList for a list that may be longer.
func subsetPart(want, list []any, at string) string {
	partner := make([]int, len(list)) // index in want, from 1; 0 is unassigned
	for i, item := range want {
		if !assign(want, list, i, partner, make([]bool, len(list))) {
			return fmt.Sprintf("%s: %s is not in %s", place(at), show(item), show(list))
		}
	}
	return ""
}

// assign finds an element of got for want[i], reassigning others if necessary.
func assign(want, got []any, i int, partner []int, tried []bool) bool {
	for j := range got {
		if tried[j] || subset(want[i], got[j], "") != "" {
			continue
		}
		tried[j] = true
		if partner[j] == 0 || assign(want, got, partner[j]-1, partner, tried) {
			partner[j] = i + 1
			return true
		}
	}
	return false
}

func containsTexts(want, got any, at string) string {
	text, ok := got.(string)
	if !ok {
		text = show(got)
	}
	parts, ok := want.([]any)
	if !ok {
		parts = []any{want}
	}
	for _, part := range parts {
		part := fmt.Sprint(part)
		if !strings.Contains(strings.ToLower(text), strings.ToLower(part)) {
			return fmt.Sprintf("%s: %q is not in %q", at, part, text)
		}
	}
	return ""
}

func equalScalar(a, b any) bool {
	x, ok := a.(json.Number)
	y, also := b.(json.Number)
	if !ok || !also || x == y {
		return a == b
	}
	f, err := x.Float64()
	g, err2 := y.Float64()
	return err == nil && err2 == nil && f == g
}

// isEmpty reports whether a value is equivalent to a missing key.
func isEmpty(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return value == nil || value == "" || value == false || value == json.Number("0")
}

func place(at string) string {
	return cmp.Or(at, "the decision")
}

// show formats a value as one line of JSON, truncated if it is long.
func show(value any) string {
	const limit = 200
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	if len(text) > limit {
		return strings.ToValidUTF8(string(text[:limit]), "") + "..."
	}
	return string(text)
}
