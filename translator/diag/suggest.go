package diag

import "unicode/utf8"

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
	for _, k := range known {
		if k == word || abs(utf8.RuneCountInString(k)-length) >= distance {
			continue // as many edits as the lengths differ are needed
		}
		if d := Edits(word, k); d < distance {
			best, distance = k, d
		}
	}
	return best
}

// closeEnough returns how many letters may differ in a word of that length: a
// third, so that short words do not all resemble each other.
func closeEnough(length int) int { return min(3, length/3) }

func abs(n int) int { return max(n, -n) }

func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
