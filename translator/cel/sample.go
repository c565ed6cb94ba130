package cel

import (
	"errors"
	"slices"

	celgo "cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
)

// Sample is an expression that cel-go evaluates, for tests of the Rego that it is compiled
// to. It is safe for concurrent use.
type Sample struct {
	// Paths are the paths that the expression reads, sorted, none of which continues another.
	Paths [][]string
	// Constants are the literals of the expression, in its order: string, int64, float64, bool,
	// or another type of cel-go.
	Constants []any
	program   celgo.Program
}

// ErrMissing is the error of an expression that reads a key that is absent.
var ErrMissing = errors.New("the expression reads a key that is absent")

// NewSample returns the sample of an expression. It returns false for one that is not valid
// in env, and for one whose value cel-go may compute in another way: it reads a timestamp,
// which is a text in JSON, or goes through a map, which has no order.
func NewSample(text string, env Env) (*Sample, bool) {
	environment, checked, problem := env.parse(text, false)
	if problem != nil {
		return nil, false
	}
	r := reader{variables: env.Variables}
	r.read(checked.NativeRep().Expr())
	parsed, _ := environment.Parse(text)
	program, err := environment.Program(parsed)
	if err != nil {
		return nil, false
	}
	slices.SortFunc(r.paths, slices.Compare)
	s := &Sample{Constants: r.constants, program: program}
	for i, path := range r.paths {
		if startsWith(path, env.Time) || startsWith(env.Time, path) {
			return nil, false
		}
		switch {
		case i+1 == len(r.paths) || !startsWith(r.paths[i+1], path):
			s.Paths = append(s.Paths, path)
		case r.hasMacro && len(r.paths[i+1]) > len(path):
			return nil, false
		}
	}
	return s, true
}

// startsWith reports whether a path is another one, or continues it. A path of no names is
// that of no variable, which none continues.
func startsWith(path, with []string) bool {
	return len(with) > 0 && len(path) >= len(with) && slices.Equal(path[:len(with)], with)
}

// Evaluate returns the value of the expression for variables in JSON. The value is a string, a
// bool, an int64, nil for null, or another value of cel-go. The error is ErrMissing, or that of
// the evaluation.
func (s *Sample) Evaluate(variables map[string]any) (value any, err error) {
	out, _, err := s.program.Eval(celValue(variables).(map[string]any))
	switch {
	case err != nil && isMissing(err):
		return nil, ErrMissing
	case err != nil:
		return nil, err
	case out == types.NullValue:
		return nil, nil
	}
	return out.Value(), nil
}
