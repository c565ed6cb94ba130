package diag

import (
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
)

// Suggest returns the known word that is closest to a misspelt one, or "" if none
// is close. Words that differ only in case are always close. Of several equally
// close words the first one is returned.
func Suggest(word string, known []string) string {
	const longest = 64 // runes; every known word is shorter
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
		if d := editDistance(lowered, lower(k)); d < distance {
			best, distance = k, d
		}
	}
	return best
}

// editDistance counts the letters to change. Two swapped neighbours count as one.
func editDistance(a, b string) int {
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

// closeEnough returns how many letters may differ in a word of that length: a
// third, so that short words do not all resemble each other.
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
