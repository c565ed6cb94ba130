package syntax

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/writ-policy/writ/internal/jsontext"
)

// cutObjects cuts parts at the ends of JSON objects that another one follows, as
// "jq" and "kubectl" print several.
func cutObjects(file string, parts []part) []part {
	if !slices.ContainsFunc(parts, func(p part) bool { return hasObjects(file, p) }) {
		return parts
	}
	var out []part
	for _, p := range parts {
		for hasObjects(file, p) {
			start := len(p.content) - len(bytes.TrimPrefix(p.content, []byte("---")))
			err := jsontext.Check(p.content[start:], jsonLimits)
			if err == nil || err.Code != jsontext.TrailingText || p.content[start+err.Offset] != '{' {
				break
			}
			end := start + err.Offset
			at := &jsonWalk{content: p.content, line: p.line, column: 1 + p.before}
			line, column := at.position(end)
			out = append(out, part{content: p.content[:end], line: p.line, before: p.before, isJSON: p.isJSON})
			p = part{content: p.content[end:], line: line, before: column - 1, isJSON: true}
		}
		out = append(out, p)
	}
	return out
}

// hasObjects reports whether a part may be several JSON objects: a brace opens after one
// that closes. It is cheap, because it is asked of every part.
func hasObjects(file string, p part) bool {
	if path.Ext(file) != ".json" && !looksLikeJSON(p.content) {
		return false
	}
	for rest := p.content; ; {
		_, after, found := bytes.Cut(rest, []byte("}"))
		if !found {
			return false
		}
		if rest = bytes.TrimLeft(after, " \t\r\n"); bytes.HasPrefix(rest, []byte("{")) {
			return true
		}
	}
}

// jsonLimits are those of a document. A key that occurs twice is reported with both places,
// and reading goes on.
var jsonLimits = jsontext.Limits{Depth: maxDepth, LongNumbers: true, DuplicateKeys: true}

// parseJSON reads the one JSON value of a part, which is known to be UTF-8. A nil node
// without an error is an empty part or null.
func parseJSON(p part, found *flaws) (*Node, *syntaxError) {
	start := 0
	if bytes.HasPrefix(p.content, []byte("---")) {
		start = len("---")
	}
	w := &jsonWalk{content: p.content, start: start, line: p.line, column: 1 + p.before}
	switch err := jsontext.Check(p.content[start:], jsonLimits); {
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
	*found = w.duplicates
	if root.Type == null {
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

	duplicates flaws
	tooDeep    *syntaxError // of a scalar; nil if none is too deep
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

func (w *jsonWalk) value(token jsontext.Token, depth int) *Node {
	n := &Node{}
	n.Line, n.Column = w.position(token.Start)
	if depth > maxDepth && w.tooDeep == nil {
		w.tooDeep = &syntaxError{Line: n.Line, Column: n.Column, Message: tooDeepMessage()}
	}
	switch token.Kind {
	case '{':
		w.object(n, depth)
	case '[':
		n.Type = List
		for token = w.tokens.Next(); token.Kind != ']'; token = w.tokens.Next() {
			n.Items = append(n.Items, w.value(token, depth+1))
		}
	case '"':
		n.Type, n.Quoted, n.Value = String, true, w.tokens.Text(token)
	case 't', 'f', 'n':
		n.Value = w.tokens.Raw(token)
		n.Type = plainKind(n.Value)
	default:
		n.Type, n.Value = Integer, w.tokens.Raw(token)
		if strings.ContainsAny(n.Value, ".eE") {
			n.Type = float
		}
	}
	return n
}

func (w *jsonWalk) object(n *Node, depth int) {
	n.Type = Mapping
	keys := new(keySet)
	for token := w.tokens.Next(); token.Kind != '}'; token = w.tokens.Next() {
		key := &Node{Type: String, Quoted: true, Value: w.tokens.Text(token)}
		key.Line, key.Column = w.position(token.Start)
		value := w.value(w.tokens.Next(), depth+1)
		if first := keys.add(n.Fields, key); first != nil {
			w.duplicates.addRepeated(n, Field{key, value}, first)
		} else {
			n.Fields = append(n.Fields, Field{key, value})
		}
	}
}

func tooDeepMessage() string { return fmt.Sprintf("nested deeper than %d levels", maxDepth) }

// syntaxError describes what jsontext rejects.
func (w *jsonWalk) syntaxError(err *jsontext.Error) *syntaxError {
	e := &syntaxError{Message: err.Message()}
	e.Line, e.Column = w.position(err.Offset)
	rest := w.content[w.start+err.Offset:]
	found := "the end of the text"
	if len(rest) > 0 {
		r, _ := utf8.DecodeRune(rest)
		found = Quote(string(r))
	}
	switch err.Code {
	case jsontext.ExpectedValue:
		if len(rest) == 0 {
			e.Message = "a value is missing at the end of the text"
			break
		}
		e.Message += ", not " + found
	case jsontext.ExpectedKey, jsontext.ExpectedColon, jsontext.ExpectedBrace, jsontext.ExpectedBracket, jsontext.ExpectedDigit:
		e.Message += ", not " + found
	case jsontext.TrailingText:
		e.Message += ", from " + found
	case jsontext.TooDeep:
		e.Message = tooDeepMessage()
	case jsontext.ControlCharacter:
		e.Message = "the string is not closed on its line"
	case jsontext.InvalidEscape:
		e.Message = found + " after a backslash is not an escape"
	case jsontext.LoneSurrogate:
		e.Message = strings.ToLower(string(rest[:len(`\u0000`)])) + " is half of a surrogate pair"
	default: // the message of the scanner
	}
	return e
}
