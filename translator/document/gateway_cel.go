package document

import (
	"github.com/writ-policy/writ/translator/cel"
	"github.com/writ-policy/writ/translator/diag"
)

// celCheck says what is wrong with an expression, by what it is for: that decides
// what it may name and what it must be.
type celCheck func(text string) *cel.Problem

// cel checks an expression. Mistakes are told at the key that holds it, the place
// within the text in the message; the result is nil then.
func (d *decoder) cel(key, n *node, check celCheck) *Text {
	if n.kind != text {
		d.fail(n, diag.WrongType, quoted(n), "%s is an expression in CEL, a string, this is %s", key.value, describe(n))
		return nil
	}
	if problem := check(n.value); problem != nil {
		d.fail(key, diag.CEL, celHint(problem), "%s, line %d, column %d: %s", key.value, problem.Line, problem.Column, problem.Message)
		return nil
	}
	return &Text{Value: n.value, At: d.at(key)}
}

// celHint is the name that was probably meant, where one is not known.
func celHint(problem *cel.Problem) string {
	if near := diag.Suggest(problem.Unknown, problem.Known); near != "" {
		return "did you mean " + quote(near) + "?"
	}
	return ""
}

// celText is the shape of an expression over a request.
var celText = reader(func(d *decoder, key, n *node) { d.cel(key, n, cel.CheckExpression) })
