package jsontext

import (
	"strings"
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

// checkText checks the string at i and returns where it ends, past its quote, and whether
// it has escapes, as its kind.
func (c *checker) checkText(i int) (end int, k kind, err *Error) {
	data := c.data
	k = '"'
	for i++; i < len(data); {
		switch b := data[i]; {
		case plain[b]:
			i++
		case b == '"':
			return i + 1, k, nil
		case b == '\\':
			k = escapedText
			if i, err = c.escape(i); err != nil {
				return 0, k, err
			}
		case b < utf8.RuneSelf:
			return 0, k, &Error{Code: ControlCharacter, Offset: i}
		default:
			r, size := utf8.DecodeRune(data[i:])
			if r == utf8.RuneError && size == 1 {
				return 0, k, &Error{Code: InvalidUTF8, Offset: i}
			}
			i += size
		}
	}
	return 0, k, &Error{Code: UnclosedString, Offset: i}
}

// escape reads the escape whose backslash is at i.
func (c *checker) escape(i int) (int, *Error) {
	rest := c.data[i+1:]
	if len(rest) == 0 {
		return 0, &Error{Code: UnclosedString, Offset: i}
	}
	if rest[0] != 'u' {
		if unescaped[rest[0]] == 0 {
			return 0, c.fail(InvalidEscape, i+1)
		}
		return i + 2, nil
	}
	r := hex4(rest[1:])
	if r < 0 {
		return 0, &Error{Code: invalidUnicodeEscape, Offset: i}
	}
	if !utf16.IsSurrogate(r) {
		return i + 6, nil
	}
	if rest = rest[5:]; len(rest) < 6 || rest[0] != '\\' || rest[1] != 'u' ||
		utf16.DecodeRune(r, hex4(rest[2:])) == utf8.RuneError {
		return 0, &Error{Code: LoneSurrogate, Offset: i}
	}
	return i + 12, nil
}

// unescape resolves the escapes of s, the inside of a checked string.
func unescape(s string) string {
	at := strings.IndexByte(s, '\\')
	if at < 0 {
		return s
	}
	out := append(make([]byte, 0, len(s)), s[:at]...)
	for i := at; i < len(s); i++ {
		if s[i] != '\\' {
			out = append(out, s[i])
			continue
		}
		i++
		if s[i] != 'u' {
			out = append(out, unescaped[s[i]])
			continue
		}
		r := hex4(s[i+1:])
		i += 4
		if utf16.IsSurrogate(r) {
			r = utf16.DecodeRune(r, hex4(s[i+3:]))
			i += 6
		}
		out = utf8.AppendRune(out, r)
	}
	return string(out)
}

// unescaped is the byte that each letter after a backslash stands for; zero for a
// letter that is not an escape.
var unescaped = [256]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// hex4 is the value of the first four hexadecimal digits of s, or -1.
func hex4[T string | []byte](s T) rune {
	if len(s) < 4 {
		return -1
	}
	var r rune
	for i := range 4 {
		c := s[i]
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

const hexDigits = "0123456789abcdef"

// AppendString appends text as a JSON string. Bytes that are not UTF-8 become
// U+FFFD.
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
