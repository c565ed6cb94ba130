package document

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// jsonParser reads one JSON value strictly (RFC 8259), remembering where each
// value stands. The text is known to be UTF-8.
type jsonParser struct {
	content []byte
	at      int
	line    int
	// column belongs to the byte offset mark, both on the current line: columns
	// are counted on from the last token, so that a long line costs no more.
	mark, column int
	// reported keeps duplicates back until the text is known to be JSON.
	reported []syntaxError
}

// parseJSON reads the one JSON value of a part. A nil node without an error is
// an empty part or null.
func parseJSON(p part, report func(syntaxError)) (*node, *syntaxError) {
	j := &jsonParser{content: p.content, line: p.line, column: 1}
	if bytes.HasPrefix(p.content, []byte("---")) {
		j.at = 3
	}
	j.blanks()
	if j.at == len(j.content) {
		return nil, nil
	}
	root, err := j.value(1)
	if err != nil {
		return nil, err
	}
	if j.blanks(); j.at < len(j.content) {
		return nil, j.fail("text after the value, from %s", j.found())
	}
	for _, e := range j.reported {
		report(e)
	}
	if root.kind == null {
		return nil, nil
	}
	return root, nil
}

// here returns the column of the current offset.
func (j *jsonParser) here() int {
	j.column += utf8.RuneCount(j.content[j.mark:j.at])
	j.mark = j.at
	return j.column
}

func (j *jsonParser) fail(format string, args ...any) *syntaxError {
	return &syntaxError{line: j.line, column: j.here(), message: fmt.Sprintf(format, args...)}
}

// found names what stands at the current offset.
func (j *jsonParser) found() string {
	if j.at >= len(j.content) {
		return "the end of the text"
	}
	r, _ := utf8.DecodeRune(j.content[j.at:])
	return quote(string(r))
}

func (j *jsonParser) blanks() {
	for j.at < len(j.content) {
		switch j.content[j.at] {
		case ' ', '\t':
			j.at++
		case '\r':
			j.at++
			if j.at < len(j.content) && j.content[j.at] == '\n' {
				j.at++
			}
			j.newline()
		case '\n':
			j.at++
			j.newline()
		default:
			return
		}
	}
}

func (j *jsonParser) newline() { j.line, j.mark, j.column = j.line+1, j.at, 1 }

// next consumes b, after blanks, if it comes next.
func (j *jsonParser) next(b byte) bool {
	j.blanks()
	if j.at < len(j.content) && j.content[j.at] == b {
		j.at++
		return true
	}
	return false
}

func (j *jsonParser) value(depth int) (*node, *syntaxError) {
	if depth > maxDepth {
		return nil, j.fail("nested deeper than %d levels", maxDepth)
	}
	if j.at >= len(j.content) {
		return nil, j.fail("a value is missing at the end of the text")
	}
	n := &node{line: j.line, column: j.here()}
	switch b := j.content[j.at]; {
	case b == '{':
		n.kind = mapping
		return n, j.object(n, depth)
	case b == '[':
		n.kind = list
		return n, j.array(n, depth)
	case b == '"':
		n.kind, n.quoted = text, true
		var err *syntaxError
		n.value, err = j.text()
		return n, err
	case b == '-' || b >= '0' && b <= '9':
		return n, j.number(n)
	default:
		return n, j.word(n)
	}
}

func (j *jsonParser) object(n *node, depth int) *syntaxError {
	j.at++
	if j.next('}') {
		return nil
	}
	keys := newKeySet(0)
	for {
		j.blanks()
		if j.at >= len(j.content) || j.content[j.at] != '"' {
			return j.fail("a key in double quotes is expected, not %s", j.found())
		}
		key := &node{kind: text, quoted: true, line: j.line, column: j.here()}
		var err *syntaxError
		if key.value, err = j.text(); err != nil {
			return err
		}
		if !j.next(':') {
			return j.fail(`":" is expected, not %s`, j.found())
		}
		j.blanks()
		value, err := j.value(depth + 1)
		if err != nil {
			return err
		}
		if first := keys.add(n.fields, key); first != nil {
			j.reported = append(j.reported, duplicateKey(key, first))
		} else {
			n.fields = append(n.fields, field{key, value})
		}
		if j.next('}') {
			return nil
		}
		if !j.next(',') {
			return j.fail(`"," or "}" is expected, not %s`, j.found())
		}
	}
}

func (j *jsonParser) array(n *node, depth int) *syntaxError {
	j.at++
	if j.next(']') {
		return nil
	}
	for {
		j.blanks()
		value, err := j.value(depth + 1)
		if err != nil {
			return err
		}
		n.items = append(n.items, value)
		if j.next(']') {
			return nil
		}
		if !j.next(',') {
			return j.fail(`"," or "]" is expected, not %s`, j.found())
		}
	}
}

func (j *jsonParser) word(n *node) *syntaxError {
	for _, word := range [...]string{"true", "false", "null"} {
		if bytes.HasPrefix(j.content[j.at:], []byte(word)) {
			n.kind, n.value = plainKind(word), word
			j.at += len(word)
			return nil
		}
	}
	return j.fail("a value is expected, not %s", j.found())
}

func (j *jsonParser) number(n *node) *syntaxError {
	start := j.at
	n.kind = integer
	if j.content[j.at] == '-' {
		j.at++
	}
	if j.at < len(j.content) && j.content[j.at] == '0' {
		j.at++
	} else if j.digits() == 0 {
		return j.fail("a digit is expected, not %s", j.found())
	}
	if j.at < len(j.content) && j.content[j.at] == '.' {
		n.kind = float
		if j.at++; j.digits() == 0 {
			return j.fail("a digit is expected, not %s", j.found())
		}
	}
	if j.at < len(j.content) && (j.content[j.at] == 'e' || j.content[j.at] == 'E') {
		n.kind = float
		j.at++
		if j.at < len(j.content) && (j.content[j.at] == '+' || j.content[j.at] == '-') {
			j.at++
		}
		if j.digits() == 0 {
			return j.fail("a digit is expected, not %s", j.found())
		}
	}
	n.value = string(j.content[start:j.at])
	return nil
}

func (j *jsonParser) digits() int {
	start := j.at
	for j.at < len(j.content) && j.content[j.at] >= '0' && j.content[j.at] <= '9' {
		j.at++
	}
	return j.at - start
}

// text reads a string, the current byte being its first quote.
func (j *jsonParser) text() (string, *syntaxError) {
	j.at++
	rest := j.content[j.at:]
	if end := bytes.IndexAny(rest[:min(len(rest), 128)], "\"\\\n\r\t"); end >= 0 && rest[end] == '"' {
		j.at += end + 1
		return string(rest[:end]), nil
	}
	var out strings.Builder
	for j.at < len(j.content) {
		switch b := j.content[j.at]; {
		case b == '"':
			j.at++
			return out.String(), nil
		case b < ' ':
			return "", j.fail("the string is not closed on its line")
		case b == '\\':
			r, err := j.escape()
			if err != nil {
				return "", err
			}
			out.WriteRune(r)
		default:
			out.WriteByte(b)
			j.at++
		}
	}
	return "", j.fail("the string is not closed")
}

// escape reads an escape sequence, the current byte being its backslash.
func (j *jsonParser) escape() (rune, *syntaxError) {
	if j.at+1 >= len(j.content) {
		return 0, j.fail("the string is not closed")
	}
	b := j.content[j.at+1]
	if i := strings.IndexByte(`"\/bfnrt`, b); i >= 0 {
		j.at += 2
		return rune("\"\\/\b\f\n\r\t"[i]), nil
	}
	if b != 'u' {
		j.at++
		return 0, j.fail("%s after a backslash is no escape", j.found())
	}
	r, ok := j.hex4(j.at + 2)
	if !ok {
		return 0, j.fail(`\u is not followed by four hexadecimal digits`)
	}
	if !utf16.IsSurrogate(r) {
		j.at += 6
		return r, nil
	}
	if j.at+7 < len(j.content) && j.content[j.at+6] == '\\' && j.content[j.at+7] == 'u' {
		if low, ok := j.hex4(j.at + 8); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				j.at += 12
				return pair, nil
			}
		}
	}
	return 0, j.fail(`\u%04x is half of a surrogate pair`, r)
}

func (j *jsonParser) hex4(at int) (rune, bool) {
	if at+4 > len(j.content) {
		return 0, false
	}
	var r rune
	for _, b := range j.content[at : at+4] {
		switch {
		case b >= '0' && b <= '9':
			r = r<<4 | rune(b-'0')
		case b|0x20 >= 'a' && b|0x20 <= 'f':
			r = r<<4 | rune(b|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}
