package exchange

import (
	"strings"
	"unicode/utf8"

	"github.com/writ-policy/writ/internal/jsontext"
)

// Bounds, in bytes, of texts that hold what callers or documents chose.
const (
	MaxReason = 1024
	MaxText   = 2048
	MaxName   = 200
)

// Line makes text one line of at most limit bytes that cannot act on a terminal
// or a log: control characters, line separators and format characters,
// such as marks that turn the direction of writing, become spaces. API servers show reasons to users as they
// are.
func Line(text string, limit int) string {
	if len(text) <= limit && harmless(text) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if jsontext.Acts(r) {
			r = ' '
		}
		if b.Len()+utf8.RuneLen(r) > limit-len("...") {
			b.WriteString("...")
			break
		}
		b.WriteRune(r)
	}
	return b.String()
}

func harmless(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= 0x7f {
			return !strings.ContainsFunc(text[i:], jsontext.Acts) && utf8.ValidString(text[i:])
		}
	}
	return true
}
