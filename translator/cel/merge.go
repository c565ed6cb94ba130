package cel

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	celgo "cel.dev/cel-go/cel"
)

// Merge is a merge condition: a question about the policy that a directory's lower
// documents make, asked once for each path when the directory is compiled. It is
// safe for concurrent use.
type Merge struct {
	program celgo.Program
}

// CompileMerge is the condition that the text says, with the variables self, the
// lower policy, and spec, its spec.
func CompileMerge(text string) (*Merge, *Problem) {
	environment, _, problem := merge.parse(text, true)
	if problem != nil {
		return nil, problem
	}
	// Not the checked form: the checker takes what is read from dyn by an index for
	// whatever fits a function first, so that int(x['a']) refuses a string.
	parsed, _ := environment.Parse(text)
	program, err := environment.Program(parsed)
	if err != nil {
		line, column := first(text)
		return nil, &Problem{Message: err.Error(), Line: line, Column: column}
	}
	return &Merge{program}, nil
}

// Holds reports whether the condition is true of a policy, which is JSON: strings,
// bool, nil, numbers, []any, map[string]any. A number that is
// whole is an int. What reads a key that is not there, or beyond the end of a
// list, does not hold; every other failure is an error.
func (m *Merge) Holds(self map[string]any) (bool, error) {
	policy := Value(self).(map[string]any)
	spec := policy["spec"]
	if spec == nil {
		spec = map[string]any{}
	}
	out, _, err := m.program.Eval(map[string]any{"self": policy, "spec": spec})
	if err != nil {
		if isMissing(err) {
			return false, nil
		}
		if strings.HasPrefix(err.Error(), "no such overload") {
			return false, errors.New("the types of the values do not go together")
		}
		return false, err
	}
	holds, ok := out.Value().(bool)
	if !ok {
		return false, fmt.Errorf("the value is of type %s, not bool", out.Type().TypeName())
	}
	return holds, nil
}

// isMissing tells an evaluation that read what is not there from one that failed.
// cel-go has no type for it outside its interpreter.
func isMissing(err error) bool {
	text := err.Error()
	return strings.HasPrefix(text, "no such key: ") || strings.HasPrefix(text, "index out of bounds: ") || strings.HasPrefix(text, "no such attribute")
}

// Value is a JSON value with the numbers that CEL has: one that is whole, and fits, is
// an int, every other one a double. How it is written says nothing: 1 and 1.0 are one
// number in JSON and in Rego.
func Value(v any) any {
	switch v := v.(type) {
	case json.Number:
		if i, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return i
		}
		f, _ := v.Float64()
		return Value(f)
	case float64:
		if v == math.Trunc(v) && v >= math.MinInt64 && v < math.MaxInt64 {
			return int64(v)
		}
	case int:
		return int64(v)
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = Value(item)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, item := range v {
			out[key] = Value(item)
		}
		return out
	}
	return v
}
