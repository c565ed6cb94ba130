package decision

import (
	"unicode/utf16"
	"unicode/utf8"
)

// plain are the bytes of a string that stand for themselves, each alone.
var plain = func() (table [256]bool) {
	for c := 0x20; c < utf8.RuneSelf; c++ {
		table[c] = c != '"' && c != '\\'
	}
	return table
}()

// text reads the string at i and returns where it ends, past its quote.
func (c *checker) text(i int) (end int, escaped bool, err *InvalidRequest) {
	data := c.data
	for i++; i < len(data); {
		switch b := data[i]; {
		case plain[b]:
			i++
		case b == '"':
			return i + 1, escaped, nil
		case b == '\\':
			escaped = true
			if i, err = c.escape(i); err != nil {
				return 0, false, err
			}
		case b < utf8.RuneSelf:
			return 0, false, invalid("", "a string holds a control character that is not escaped, at byte %d", i)
		default:
			r, size := utf8.DecodeRune(data[i:])
			if r == utf8.RuneError && size == 1 {
				return 0, false, invalid("", "the body is not UTF-8, at byte %d", i)
			}
			i += size
		}
	}
	return 0, false, c.syntax(i)
}

// escape reads the escape whose backslash is at i.
func (c *checker) escape(i int) (int, *InvalidRequest) {
	rest := c.data[i+1:]
	if len(rest) == 0 {
		return 0, c.syntax(len(c.data))
	}
	if rest[0] != 'u' {
		if unescaped[rest[0]] == 0 {
			return 0, c.syntax(i + 1)
		}
		return i + 2, nil
	}
	r := hex4(rest[1:])
	if r < 0 {
		return 0, c.syntax(i + 1)
	}
	if !utf16.IsSurrogate(r) {
		return i + 6, nil
	}
	if rest = rest[5:]; len(rest) < 6 || rest[0] != '\\' || rest[1] != 'u' ||
		utf16.DecodeRune(r, hex4(rest[2:])) == utf8.RuneError {
		return 0, invalid("", "a string holds a lone surrogate, at byte %d", i)
	}
	return i + 12, nil
}

const hexDigits = "0123456789abcdef"

// AppendString appends text as a JSON string. Bytes that are no UTF-8 become
// U+FFFD: CheckJSON lets none in.
func AppendString(b []byte, text string) []byte {
	b = append(b, '"')
	from := 0
	for i := 0; i < len(text); {
		c := text[i]
		if plain[c] {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(text[i:])
			if r != utf8.RuneError || size > 1 {
				i += size
				continue
			}
			b = append(append(b, text[from:i]...), "\ufffd"...)
		} else {
			b = append(append(b, text[from:i]...), '\\')
			b = appendEscape(b, c)
		}
		i++
		from = i
	}
	return append(append(b, text[from:]...), '"')
}

func appendEscape(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, c)
	case '\n':
		return append(b, 'n')
	case '\r':
		return append(b, 'r')
	case '\t':
		return append(b, 't')
	}
	return append(b, 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
}
