package document

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// quote writes a value of a document for a message: in quotes, escaped, and no
// longer than a line can bear.
func quote(value string) string {
	const most = 80
	if utf8.RuneCountInString(value) > most {
		runes := 0
		for i := range value {
			if runes == most {
				return strconv.Quote(value[:i]) + "..."
			}
			runes++
		}
	}
	return strconv.Quote(value)
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
