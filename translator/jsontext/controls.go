package jsontext

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// EscapeControls returns JSON in which every character that acts on a terminal or turns
// the direction of text is written as \uXXXX: DEL, the C1 control characters, line
// separators and bidirectional marks. Encoders write them as they are. In JSON they stand
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
		if acts(r) {
			out = fmt.Appendf(append(out, data[kept:i]...), `\u%04x`, r)
			kept = i + size
		}
		i += size
	}
	if kept == 0 {
		return data
	}
	return append(out, data[kept:]...)
}

func acts(r rune) bool {
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Bidi_Control, r)
}
