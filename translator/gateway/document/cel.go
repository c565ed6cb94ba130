package document

import (
	"github.com/writ-policy/writ/translator/cel"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
)

// celCheck says what is wrong with an expression, by what it is for: that decides
// what it may name and what it must be.
type celCheck func(text string) *cel.Problem

// decodeCel checks an expression. Mistakes are reported at the key that holds it, with the
// place within the text in the message; the result is nil then.
func decodeCel(d *syntax.Decoder, key, n *syntax.Node, check celCheck) *syntax.Text {
	if n.Type != syntax.String {
		d.Fail(n, diag.WrongType, syntax.QuoteHint(n), "%s must be a string in CEL, not %s", key.Value, syntax.Describe(n))
		return nil
	}
	if problem := check(n.Value); problem != nil {
		d.Fail(key, diag.CEL, cel.Hint(problem), "%s, line %d, column %d: %s", key.Value, problem.Line, problem.Column, problem.Message)
		return nil
	}
	return &syntax.Text{Value: n.Value, At: d.At(key)}
}

// celOf is the text of an expression, empty where it has mistakes.
func celOf(t *syntax.Text) string {
	if t == nil {
		return ""
	}
	return t.Value
}

// celText is the shape of an expression over a request.
var celText = reader(func(d *syntax.Decoder, key, n *syntax.Node) { decodeCel(d, key, n, cel.CheckExpression) })
