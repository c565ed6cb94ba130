// Package cel checks CEL expressions, decides merge conditions, and compiles what
// is asked of requests to Rego.
package cel

// Program is an expression compiled to Rego.
type Program struct{}

// CompilePredicate compiles a condition.
func CompilePredicate(text string, env Env) (*Program, *Problem) {
	if _, _, problem := env.parse(text, true); problem != nil {
		return nil, problem
	}
	return &Program{}, nil
}

// CompileExpression compiles an expression of any type.
func CompileExpression(text string, env Env) (*Program, *Problem) {
	if _, _, problem := env.parse(text, false); problem != nil {
		return nil, problem
	}
	return &Program{}, nil
}
