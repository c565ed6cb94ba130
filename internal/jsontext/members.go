package jsontext

import "iter"

// Members returns the keys and the values of an object, the values as they are written.
// Check must have accepted checked, which must not change meanwhile.
func Members(checked []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		tokens := TokensOf(checked)
		tokens.Next() // the opening brace
		for key := tokens.Next(); key.Kind != '}'; key = tokens.Next() {
			if !yield(tokens.Text(key), tokens.Whole(tokens.Next())) {
				return
			}
		}
	}
}

// Whole returns the text of the value that begins with the last token, whole. The next
// token is the one behind it.
func (t *Tokens) Whole(token Token) []byte {
	if token.Kind == '{' || token.Kind == '[' {
		t.at = valueEnd(t.text, token.Start)
	}
	return t.text[token.Start:t.at]
}

// Elements returns the elements of a list as they are written. Check must have accepted
// checked, which must not change meanwhile.
func Elements(checked []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		tokens := TokensOf(checked)
		tokens.Next() // the opening bracket
		for {
			before := *tokens
			if tokens.Next().Kind == ']' {
				return
			}
			*tokens = before
			if !yield(tokens.Whole(tokens.Next())) {
				return
			}
		}
	}
}
