package diag

import (
	"fmt"
	"slices"
	"unicode/utf8"
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

// Meant returns the hint that asks for the known word to which another one is close, and other if
// none is.
func Meant(word string, known []string, other string) string {
	if near := Suggest(word, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return other
}

// closeEnough returns how many letters may differ in a word of that length: a
// third, so that short words do not all resemble each other.
func closeEnough(length int) int { return min(3, length/3) }

func abs(n int) int { return max(n, -n) }

func lower(s string) []rune {
	runes := []rune(s)
	for i, c := range runes {
		if c >= 'A' && c <= 'Z' {
			runes[i] = c + 'a' - 'A'
		}
	}
	return runes
}

// Edits returns how many edits make b of a, letters compared without regard to ASCII
// case. An edit inserts, deletes or replaces a character, or swaps two neighbours.
func Edits(a, b string) int {
	from, to := apart(a, b)
	// The cell (i+1, j+1) is the distance of the first i and j characters; row and column
	// 0 stand before the texts and cost more than any edit.
	width, most := len(to)+2, len(from)+len(to)
	cells := make([]int, (len(from)+2)*width)
	for i := range len(from) + 2 {
		cells[i*width], cells[i*width+1] = most, i-1
	}
	for j := range width {
		cells[j], cells[width+j] = most, j-1
	}
	cells[width] = most
	for i, x := range from {
		match := 0 // the last column whose character is x
		row := (i + 2) * width
		for j, y := range to {
			cost := 1
			best := min(cells[row-width+j+2], cells[row+j+1]) + 1
			if last := lastIndex(from[:i], y) + 1; last > 0 && match > 0 {
				best = min(best, cells[last*width+match]+(i-last)+1+(j-match))
			}
			if x == y {
				cost, match = 0, j+1
			}
			cells[row+j+2] = min(best, cells[row-width+j+1]+cost)
		}
	}
	return cells[len(cells)-1]
}

// lastIndex returns the last index of r in text, or -1.
func lastIndex(text []rune, r rune) int {
	for i, t := range slices.Backward(text) {
		if t == r {
			return i
		}
	}
	return -1
}

// AreNear reports whether at most one edit makes b of a. It takes a tenth of the time of Edits.
func AreNear(a, b string) bool {
	from, to := apart(a, b)
	isSwap := len(from) == 2 && len(to) == 2 && from[0] == to[1] && from[1] == to[0]
	return isSwap || max(len(from), len(to)) <= 1
}

// apart returns the texts in lower case, without the prefix and the suffix that they share, which
// need no edit.
func apart(a, b string) (from, to []rune) {
	from, to = lower(a), lower(b)
	for len(from) > 0 && len(to) > 0 && from[0] == to[0] {
		from, to = from[1:], to[1:]
	}
	for len(from) > 0 && len(to) > 0 && from[len(from)-1] == to[len(to)-1] {
		from, to = from[:len(from)-1], to[:len(to)-1]
	}
	return from, to
}
