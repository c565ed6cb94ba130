package jsontext

import (
	"fmt"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// EscapeControls returns JSON in which every character that acts on a terminal or turns
// the direction of text is written as \uXXXX: DEL, the C1 control characters, line
// separators, bidirectional marks and other format characters. Encoders write them as they are. In JSON they stand
// in strings only, so the value is the same. It returns data itself if it has none of them.
func EscapeControls(data []byte) []byte {
	var out []byte
	kept := 0
	for i := 0; i < len(data); {
		if data[i] < 0x7f {
			i++
			continue
		}
		r, size := utf8.DecodeRune(data[i:])
		if Acts(r) {
			out = AppendEscape(append(out, data[kept:i]...), r)
			kept = i + size
		}
		i += size
	}
	if kept == 0 {
		return data
	}
	return append(out, data[kept:]...)
}

// Acts reports whether a character acts on a terminal or a log, turns the direction of
// text or is invisible.
func Acts(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }

// AppendEscape appends \uXXXX, as in JSON: characters above U+FFFF are two of them.
func AppendEscape(out []byte, r rune) []byte {
	if high, low := utf16.EncodeRune(r); high != unicode.ReplacementChar {
		return fmt.Appendf(out, `\u%04x\u%04x`, high, low)
	}
	return fmt.Appendf(out, `\u%04x`, r)
}
