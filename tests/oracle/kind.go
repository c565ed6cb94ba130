package oracle

import "strings"

// SameKind compares two words without regard to case and number.
func SameKind(a, b string) bool {
	a, b = strings.ToLower(a), strings.ToLower(b)
	return a == b || Plural(a) == b || Plural(b) == a
}

// Plural is the plural of a lower-case word.
func Plural(word string) string {
	if strings.HasSuffix(word, "y") && len(word) > 1 && strings.Contains("bcdfghjklmnpqrstvwxyz", word[len(word)-2:len(word)-1]) {
		return word[:len(word)-1] + "ies"
	}
	for _, ending := range []string{"s", "x", "z", "ch", "sh"} {
		if strings.HasSuffix(word, ending) {
			return word + "es"
		}
	}
	return word + "s"
}
