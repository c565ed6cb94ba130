package syntax

import (
	"strconv"
	"strings"
)

// IsIdentifier reports whether s is an identifier of Rego.
func IsIdentifier(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
		case i > 0 && c >= '0' && c <= '9':
		default:
			return false
		}
	}
	return s != ""
}

// Quote returns a value of a document for a message: quoted, escaped and shortened.
func Quote(value string) string {
	if short, cut := Shorten(value); cut {
		return strconv.Quote(short) + "..."
	}
	return strconv.Quote(value)
}

// Shorten cuts a text to a length that fits a message, and reports whether it was cut.
func Shorten(text string) (short string, cut bool) {
	const most = 80
	runes := 0
	for i := range text {
		if runes == most {
			return text[:i], true
		}
		runes++
	}
	return text, false
}

// Fold lowers the ASCII letters of s. Names of fields and kinds are ASCII; the
// wider folding of Unicode would let lookalikes in (the Kelvin sign folds to k).
func Fold(s string) string {
	for i := range len(s) {
		if s[i] >= 'A' && s[i] <= 'Z' {
			return strings.Map(func(r rune) rune {
				if r >= 'A' && r <= 'Z' {
					return r + 'a' - 'A'
				}
				return r
			}, s)
		}
	}
	return s
}
