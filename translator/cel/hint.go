package cel

import (
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
)

// Hint is the name that was probably meant, where one is not known.
func Hint(problem *Problem) string {
	if near := diag.Suggest(problem.Unknown, problem.Known); near != "" {
		return "did you mean " + syntax.Quote(near) + "?"
	}
	return ""
}
