package jsontext

// Token is a scalar, a key, or one end of an object or array. Kind is the first
// byte of its text, which is data[Start:End]: '{', '}', '[', ']', '"', 't', 'f', 'n',
// and '-' or a digit for a number.
type Token struct {
	Kind       byte
	Start, End int
}

// Tokens iterates over the tokens of a text that Check accepted, keys and values
// alike in the order written. It goes through the text once, at whatever depth.
type Tokens struct {
	text []byte
	at   int
}

// TokensOf returns the tokens of checked, which Check must have accepted and which
// must not change meanwhile.
func TokensOf(checked []byte) *Tokens { return &Tokens{text: checked} }

// Next returns the next token. It must not be called after the last one.
func (t *Tokens) Next() Token {
	i := t.at
	for isSpace(t.text[i]) || t.text[i] == ',' || t.text[i] == ':' {
		i++
	}
	token := Token{Kind: t.text[i], Start: i, End: i + 1}
	switch token.Kind {
	case '{', '}', '[', ']':
	default:
		token.End = valueEnd(t.text, i)
	}
	t.at = token.End
	return token
}

// Raw returns a copy of a token as it is written.
func (t *Tokens) Raw(token Token) string { return string(t.text[token.Start:token.End]) }

// Text returns the string that a token of kind '"' stands for.
func (t *Tokens) Text(token Token) string {
	return unescape(string(t.text[token.Start+1 : token.End-1]))
}
