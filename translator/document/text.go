package document

import (
	"strconv"
	"strings"
)

// quote writes a value of a document for a message: in quotes, escaped, and no
// longer than a line can bear.
func quote(value string) string {
	if short, cut := shorten(value); cut {
		return strconv.Quote(short) + "..."
	}
	return strconv.Quote(value)
}

// shorten cuts a text to what a message can bear.
func shorten(text string) (short string, cut bool) {
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

// fold lowers the ASCII letters of s. Names of fields and kinds are ASCII; the
// wider folding of Unicode would let lookalikes in (the Kelvin sign folds to k).
func fold(s string) string {
	for i := 0; i < len(s); i++ {
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
