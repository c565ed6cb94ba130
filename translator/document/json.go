package document

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/writ-policy/writ/translator/jsontext"
)

// parseJSON reads the one JSON value of a part, which is known to be UTF-8. A nil node
// without an error is an empty part or null.
func parseJSON(p part, report func(syntaxError)) (*node, *syntaxError) {
	start := 0
	if bytes.HasPrefix(p.content, []byte("---")) {
		start = len("---")
	}
	w := &jsonWalk{content: p.content, start: start, line: p.line, column: 1}
	// A key that occurs twice is reported with both places, and reading goes on.
	limits := jsontext.Limits{Depth: maxDepth, LongNumbers: true, DuplicateKeys: true}
	switch err := jsontext.Check(p.content[start:], limits); {
	case err == nil:
	case err.Code == jsontext.Empty:
		return nil, nil
	default:
		return nil, w.syntaxError(err)
	}
	w.tokens = jsontext.TokensOf(p.content[start:])
	root := w.value(w.tokens.Next(), 1)
	if w.tooDeep != nil {
		return nil, w.tooDeep
	}
	for _, e := range w.duplicates {
		report(e)
	}
	if root.kind == null {
		return nil, nil
	}
	return root, nil
}

// jsonWalk builds nodes of a checked text.
type jsonWalk struct {
	content []byte
	start   int // of the text that tokens are of
	tokens  *jsontext.Tokens

	at, line, column int // position of the byte content[at]

	duplicates []syntaxError
	tooDeep    *syntaxError // of a scalar; nil if there is none
}

// position moves on to an offset of the text, which must not lie before the last one.
func (w *jsonWalk) position(offset int) (line, column int) {
	for offset += w.start; w.at < offset; w.at++ {
		switch b := w.content[w.at]; {
		case b == '\n', b == '\r' && !(w.at+1 < len(w.content) && w.content[w.at+1] == '\n'):
			w.line, w.column = w.line+1, 1
		case utf8.RuneStart(b):
			w.column++
		}
	}
	return w.line, w.column
}

func (w *jsonWalk) value(token jsontext.Token, depth int) *node {
	n := &node{}
	n.line, n.column = w.position(token.Start)
	if depth > maxDepth && w.tooDeep == nil {
		w.tooDeep = &syntaxError{line: n.line, column: n.column, message: tooDeepMessage()}
	}
	switch token.Kind {
	case '{':
		w.object(n, depth)
	case '[':
		n.kind = list
		for token = w.tokens.Next(); token.Kind != ']'; token = w.tokens.Next() {
			n.items = append(n.items, w.value(token, depth+1))
		}
	case '"':
		n.kind, n.quoted, n.value = text, true, w.tokens.Text(token)
	case 't', 'f', 'n':
		n.value = w.tokens.Raw(token)
		n.kind = plainKind(n.value)
	default:
		n.kind, n.value = integer, w.tokens.Raw(token)
		if strings.ContainsAny(n.value, ".eE") {
			n.kind = float
		}
	}
	return n
}

func (w *jsonWalk) object(n *node, depth int) {
	n.kind = mapping
	keys := newKeySet(0)
	for token := w.tokens.Next(); token.Kind != '}'; token = w.tokens.Next() {
		key := &node{kind: text, quoted: true, value: w.tokens.Text(token)}
		key.line, key.column = w.position(token.Start)
		value := w.value(w.tokens.Next(), depth+1)
		if first := keys.add(n.fields, key); first != nil {
			w.duplicates = append(w.duplicates, duplicateKey(key, first))
		} else {
			n.fields = append(n.fields, field{key, value})
		}
	}
}

func tooDeepMessage() string { return fmt.Sprintf("nested deeper than %d levels", maxDepth) }

// syntaxError describes what jsontext rejects.
func (w *jsonWalk) syntaxError(err *jsontext.Error) *syntaxError {
	e := &syntaxError{message: err.Message()}
	e.line, e.column = w.position(err.Offset)
	rest := w.content[w.start+err.Offset:]
	found := "the end of the text"
	if len(rest) > 0 {
		r, _ := utf8.DecodeRune(rest)
		found = quote(string(r))
	}
	switch err.Code {
	case jsontext.ExpectedValue:
		if len(rest) == 0 {
			e.message = "a value is missing at the end of the text"
			break
		}
		e.message += ", not " + found
	case jsontext.ExpectedKey, jsontext.ExpectedColon, jsontext.ExpectedBrace, jsontext.ExpectedBracket, jsontext.ExpectedDigit:
		e.message += ", not " + found
	case jsontext.TrailingText:
		e.message += ", from " + found
	case jsontext.TooDeep:
		e.message = tooDeepMessage()
	case jsontext.ControlCharacter:
		e.message = "the string is not closed on its line"
	case jsontext.InvalidEscape:
		e.message = found + " after a backslash is not an escape"
	case jsontext.LoneSurrogate:
		e.message = strings.ToLower(string(rest[:len(`\u0000`)])) + " is half of a surrogate pair"
	}
	return e
}
