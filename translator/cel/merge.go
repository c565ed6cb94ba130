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

// Merge is a merge condition: a condition on the policy that results from the lower
// policies of a path. It is evaluated when a directory is compiled. It is safe for
// concurrent use.
type Merge struct {
	program celgo.Program
}

// CompileMerge compiles a merge condition. Its variables are self, the lower policy,
// and spec, its spec.
func CompileMerge(text string) (*Merge, *Problem) {
	program, problem := merge.program(text)
	if problem != nil {
		return nil, problem
	}
	return &Merge{program}, nil
}

// program compiles a predicate that is evaluated here.
func (e Env) program(text string) (celgo.Program, *Problem) {
	environment, _, problem := e.parse(text, true)
	if problem != nil {
		return nil, problem
	}
	// The checked form is not suitable: for dyn values the checker selects the first
	// overload that fits, so that int(x['a']) rejects a string.
	parsed, _ := environment.Parse(text)
	program, err := environment.Program(parsed)
	if err != nil {
		line, column := firstNonSpace(text)
		return nil, &Problem{Message: err.Error(), Line: line, Column: column}
	}
	return program, nil
}

// Holds reports whether the condition is true for a policy in JSON: strings, bool,
// nil, numbers, []any and map[string]any. A whole number is an int. If the condition
// reads a missing key, or beyond the end of a list, it is false; every other
// evaluation error is returned.
func (m *Merge) Holds(self map[string]any) (bool, error) {
	policy := celValue(self).(map[string]any)
	spec := policy["spec"]
	if spec == nil {
		spec = map[string]any{}
	}
	holds, err := holds(m.program, map[string]any{"self": policy, "spec": spec})
	if err != nil && isMissing(err) {
		return false, nil
	}
	return holds, err
}

func holds(program celgo.Program, variables map[string]any) (bool, error) {
	out, _, err := program.Eval(variables)
	if err != nil {
		if strings.HasPrefix(err.Error(), "no such overload") {
			return false, errors.New("the operator does not accept the types of its operands")
		}
		return false, err
	}
	holds, ok := out.Value().(bool)
	if !ok {
		return false, fmt.Errorf("the value is of type %s, not bool", out.Type().TypeName())
	}
	return holds, nil
}

// Match is a match condition of a webhook authorizer of Kubernetes. It is safe for
// concurrent use.
type Match struct{ program celgo.Program }

// CompileMatch compiles a match condition. Its variable is request, the spec of a review.
func CompileMatch(text string) (*Match, *Problem) {
	program, problem := Access.program(text)
	if problem != nil {
		return nil, problem
	}
	return &Match{program}, nil
}

// Holds reports whether the condition is true for the spec of a review. It returns an
// error if the condition reads a member that is absent, as the API server does.
func (m *Match) Holds(request map[string]any) (bool, error) {
	return holds(m.program, map[string]any{"request": celValue(request)})
}

// isMissing reports whether an evaluation error is caused by a missing key. cel-go
// exports no type for it.
func isMissing(err error) bool {
	text := err.Error()
	return strings.HasPrefix(text, "no such key: ") || strings.HasPrefix(text, "index out of bounds: ") || strings.HasPrefix(text, "no such attribute")
}

// celValue converts the numbers in a JSON value to CEL's types: a whole number in the
// range of int64 is an int, every other number a double. The spelling does not matter:
// 1 and 1.0 are the same number in JSON and in Rego.
func celValue(v any) any {
	switch v := v.(type) {
	case json.Number:
		if i, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return i
		}
		f, _ := v.Float64()
		return celValue(f)
	case float64:
		if v == math.Trunc(v) && v >= math.MinInt64 && v < math.MaxInt64 {
			return int64(v)
		}
	case int:
		return int64(v)
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = celValue(item)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, item := range v {
			out[key] = celValue(item)
		}
		return out
	}
	return v
}
