package bundles

import (
	"bytes"
	"slices"
	"strings"

	"github.com/writ-policy/writ/internal/jsontext"
)

// canonical writes values in one pass.
type canonical struct {
	places []place // of the members of the objects that are being written
	copied []byte  // a buffer
}

// place is where a member of an object is written.
type place struct {
	key        []byte
	start, end int
}

// appendWhole writes checked JSON in the form that OPA hashes.
func (c *canonical) appendWhole(out, text []byte) []byte {
	tokens := jsontext.TokensOf(text)
	return c.append(out, tokens, tokens.Next())
}

// appendMembers writes the members of an object without its braces.
func (c *canonical) appendMembers(out, object []byte) []byte {
	from := len(out)
	out = c.appendWhole(out, object)
	return out[:from+copy(out[from:], out[from+1:len(out)-1])]
}

func (c *canonical) append(out []byte, tokens *jsontext.Tokens, token jsontext.Token) []byte {
	switch token.Kind {
	case '{':
		return c.appendObject(out, tokens)
	case '[':
		out = append(out, '[')
		first := true
		for next := tokens.Next(); next.Kind != ']'; next = tokens.Next() {
			if !first {
				out = append(out, ',')
			}
			first = false
			out = c.append(out, tokens, next)
		}
		return append(out, ']')
	case '"':
		out, _ = appendToken(out, tokens, token)
		return out
	}
	return append(out, tokens.Whole(token)...)
}

// appendToken writes a string as it is, unless it has escapes or a character that may need one,
// and returns what it stands for.
func appendToken(out []byte, tokens *jsontext.Tokens, token jsontext.Token) (written, text []byte) {
	if raw := tokens.Whole(token); bytes.IndexByte(raw, '\\') < 0 && bytes.IndexByte(raw, separatorByte) < 0 {
		return append(out, raw...), raw[1 : len(raw)-1]
	}
	plain := tokens.Text(token)
	return appendText(out, plain), []byte(plain)
}

// appendObject writes members as they come, and again if they are not sorted.
func (c *canonical) appendObject(out []byte, tokens *jsontext.Tokens) []byte {
	from, outer := len(out), len(c.places)
	for key := tokens.Next(); key.Kind != '}'; key = tokens.Next() {
		p := place{start: len(out) + 1}
		out, p.key = appendToken(append(out, ','), tokens, key)
		out = c.append(append(out, ':'), tokens, tokens.Next())
		p.end = len(out)
		c.places = append(c.places, p)
	}
	own := c.places[outer:]
	c.places = c.places[:outer]
	byKey := func(a, b place) int { return bytes.Compare(a.key, b.key) }
	if !slices.IsSortedFunc(own, byKey) {
		slices.SortFunc(own, byKey)
		c.copied = append(c.copied[:0], out[from:]...)
		out = out[:from]
		for _, p := range own {
			out = append(append(out, ','), c.copied[p.start-from:p.end-from]...)
		}
	}
	if len(own) == 0 {
		return append(out, "{}"...)
	}
	out[from] = '{'
	return append(out, '}')
}

// separatorByte begins U+2028 and U+2029, which encoding/json escapes.
const separatorByte = 0xe2

// appendText writes a string.
func appendText(out []byte, text string) []byte {
	if !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r == '\u2028' || r == '\u2029' }) {
		return append(append(append(out, '"'), text...), '"')
	}
	return append(out, jsontext.Encode(text)...)
}
