package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// differs states where an answer is not what is wanted, "" if it is. Both are
// decoded JSON; path is where in the answer they stand.
func differs(got, want any, path string) string {
	switch want := want.(type) {
	case map[string]any:
		return differsObject(got, want, path)
	case []any:
		return differsList(got, want, path)
	}
	if !reflect.DeepEqual(got, want) {
		return fmt.Sprintf("%s: got %s, want %s", path, text(got), text(want))
	}
	return ""
}

func differsObject(got any, want map[string]any, path string) string {
	object, ok := got.(map[string]any)
	if !ok {
		return fmt.Sprintf("%s: got %s, want an object", path, text(got))
	}
	if len(want) == 0 && len(object) > 0 {
		return fmt.Sprintf("%s: got %s, want {}", path, text(got))
	}
	keys := slices.Sorted(maps.Keys(want))
	if strings.HasSuffix(path, ".sources") && !slices.Equal(slices.Sorted(maps.Keys(object)), keys) {
		return fmt.Sprintf("%s: got %s, want exactly the keys %q", path, text(got), keys)
	}
	for _, key := range keys {
		value, there := object[key]
		base, contains := strings.CutSuffix(key, "Contains")
		var why string
		switch {
		case contains:
			why = lacks(object[base], want[key], path+"."+base)
		case there:
			why = differs(value, want[key], path+"."+key)
		case !empty(want[key]):
			why = fmt.Sprintf("%s.%s: got nothing, want %s", path, key, text(want[key]))
		}
		if why != "" {
			return why
		}
	}
	return ""
}

// lacks wants each part in a text, whatever its case.
func lacks(got, parts any, path string) string {
	list, ok := parts.([]any)
	if !ok {
		list = []any{parts}
	}
	for _, part := range list {
		if !strings.Contains(strings.ToLower(fmt.Sprint(got)), strings.ToLower(fmt.Sprint(part))) {
			return fmt.Sprintf("%s: got %s, want %s in it", path, text(got), text(part))
		}
	}
	return ""
}

func differsList(got any, want []any, path string) string {
	left, ok := got.([]any)
	if !ok || len(left) != len(want) {
		return fmt.Sprintf("%s: got %s, want %s", path, text(got), text(want))
	}
	left = slices.Clone(left)
	for _, item := range want {
		i := slices.IndexFunc(left, func(candidate any) bool { return differs(candidate, item, "") == "" })
		if i < 0 {
			return fmt.Sprintf("%s: got %s, want %s in it", path, text(got), text(item))
		}
		left = slices.Delete(left, i, i+1)
	}
	return ""
}

// empty are the values that may as well be missing.
func empty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == ""
	case float64:
		return v == 0
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

func text(value any) string {
	out, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(out)
}

// A comparison that lets everything through would make every suite green.
func TestDiffers(t *testing.T) {
	for _, row := range []struct {
		name, got, want string
		differ          bool
	}{
		{"equal", `{"a":1}`, `{"a":1}`, false},
		{"more than wanted", `{"a":1,"b":2}`, `{"a":1}`, false},
		{"another value", `{"a":1}`, `{"a":2}`, true},
		{"missing", `{}`, `{"a":1}`, true},
		{"missing but empty", `{}`, `{"a":"","b":[],"c":{},"d":null,"e":false}`, false},
		{"null is wanted", `{"a":1}`, `{"a":null}`, true},
		{"an empty object exactly", `{"a":{"b":1}}`, `{"a":{}}`, true},
		{"sources exactly", `{"sources":{"a":"x","b":"y"}}`, `{"sources":{"a":"x"}}`, true},
		{"a list in another order", `{"a":[1,2]}`, `{"a":[2,1]}`, false},
		{"a longer list", `{"a":[1,2]}`, `{"a":[1]}`, true},
		{"a list with one twice", `{"a":[1,2]}`, `{"a":[1,1]}`, true},
		{"parts of items", `{"a":[{"b":1,"c":2}]}`, `{"a":[{"b":1}]}`, false},
		{"words of the reason", `{"reason":"Allowed by R"}`, `{"reasonContains":["by r"]}`, false},
		{"other words", `{"reason":"allowed by R"}`, `{"reasonContains":"denied"}`, true},
		{"true is not a string", `{"a":"true"}`, `{"a":true}`, true},
		{"an object for a list", `{"a":{}}`, `{"a":[]}`, true},
	} {
		var got, want any
		if err := json.Unmarshal([]byte(row.got), &got); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(row.want), &want); err != nil {
			t.Fatal(err)
		}
		if why := differs(got, want, ""); (why != "") != row.differ {
			t.Errorf("%s: got %q, want a difference: %v", row.name, why, row.differ)
		}
	}
}
