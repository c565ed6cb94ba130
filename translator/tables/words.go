package tables

import (
	"slices"
	"strings"
)

// Once returns a list without duplicates, in the order of first occurrences.
func Once(list []string) []string {
	var out []string
	seen := make(map[string]bool, len(list))
	for _, entry := range list {
		if !seen[entry] {
			seen[entry] = true
			out = append(out, entry)
		}
	}
	return out
}

// Entries returns the entries of a list sorted and without duplicates, never nil. It does
// not modify the list.
func Entries(list []string) []string {
	out := append([]string{}, list...)
	slices.Sort(out)
	return slices.Compact(out)
}

// Plural returns the plural of a lower-case word by the rules of Origin's kinds.
func Plural(word string) string {
	n := len(word)
	switch {
	case n > 1 && word[n-1] == 'y' && strings.IndexByte("bcdfghjklmnpqrstvwxyz", word[n-2]) >= 0:
		return word[:n-1] + "ies"
	case hasAnySuffix(word, "s", "x", "z", "ch", "sh"):
		return word + "es"
	}
	return word + "s"
}

// KindSynonyms returns the words that name the same kind as a lower-case word: the word,
// its plural, and the words that it is the plural of. The relation is not transitive.
func KindSynonyms(word string) []string {
	kinds := []string{word, Plural(word)}
	if !strings.HasSuffix(word, "s") {
		return kinds
	}
	for _, single := range []string{
		strings.TrimSuffix(word, "s"),
		strings.TrimSuffix(word, "es"),
		strings.TrimSuffix(word, "ies") + "y",
	} {
		if single != "" && single != word && Plural(single) == word {
			kinds = append(kinds, single)
		}
	}
	return kinds
}

func hasAnySuffix(word string, suffixes ...string) bool {
	return slices.ContainsFunc(suffixes, func(suffix string) bool { return strings.HasSuffix(word, suffix) })
}
