package document

import "github.com/writ-policy/writ/translator/diag"

// What the CEL of a document is for, which decides what it may name and what it
// must be.
type celUse int

const (
	celPredicate  celUse = iota // a condition on a request
	celExpression               // a value found in a request
	celCounter                  // what a limit counts by
	celLimitWhen                // when a limit counts
	celMerge                    // whether a block is merged
)

// cel checks an expression. Mistakes are told at the key that holds it, the place
// within the text in the message.
func (d *decoder) cel(key, n *node, use celUse) *Text {
	if n.kind != text {
		d.fail(n, diag.WrongType, quoted(n), "%s is an expression in CEL, a string, this is %s", key.value, describe(n))
		return nil
	}
	return &Text{Value: n.value, At: d.at(key)}
}

// celText is the shape of an expression over a request.
var celText = reader(func(d *decoder, key, n *node) { d.cel(key, n, celExpression) })
