package diag

import (
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
)

// Suggest returns the one of known that word was probably meant to be, or "" if
// none is close. Case counts for little: a word that differs in nothing else is
// always close. Of two equally close ones the first is taken.
func Suggest(word string, known []string) string {
	const longest = 64 // runes; a longer word is no misspelling of ours
	length := utf8.RuneCountInString(word)
	if length == 0 || length > longest {
		return ""
	}
	best, distance := "", closeEnough(length)+1
	lowered := lower(word)
	for _, k := range known {
		if k == word {
			continue
		}
		if d := apart(lowered, lower(k)); d < distance {
			best, distance = k, d
		}
	}
	return best
}

// apart is how many letters differ; two neighbours in the wrong order are one.
func apart(a, b string) int {
	if len(a) == len(b) {
		for i := 0; i+1 < len(a); i++ {
			if a[i] != b[i] {
				if a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:] {
					return 1
				}
				break
			}
		}
	}
	return levenshtein.ComputeDistance(a, b)
}

// closeEnough is how many letters may differ in a word of that length: a third,
// so that short words do not all resemble each other.
func closeEnough(length int) int { return min(3, length/3) }

func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
