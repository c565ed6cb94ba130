package projection

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/footprint"
	"github.com/writ-policy/writ/translator/tables"
)

type set map[string]struct{}

func setOf(list []string) set {
	s := make(set, len(list))
	for _, value := range list {
		s[value] = struct{}{}
	}
	return s
}

func (s set) has(value string) bool {
	_, ok := s[value]
	return ok
}

// words are values that rules compare in any case; the set holds them as written and in
// lower case.
type words set

func (w words) add(list ...string) {
	for _, word := range list {
		w[word] = struct{}{}
		w[strings.ToLower(word)] = struct{}{}
	}
}

// has reports whether rules may distinguish the word, in any case, from words that they
// do not name.
func (w words) has(word string) bool {
	if _, ok := w[word]; ok {
		return true
	}
	lower := strings.ToLower(word)
	_, ok := w[lower]
	return ok && lower != word
}

// maxGlobs is how many patterns that are not prefixes are compared with a value; with
// more of them the value is kept.
const maxGlobs = 64

// maxCompared is how many bytes of a value are compared with patterns that are not
// prefixes. Longer values are kept: the time of a comparison is the product of both lengths,
// and no deadline holds for it.
const maxCompared = 1024

// values are the values and patterns of one attribute.
type values struct {
	named    set
	prefixes set   // of the patterns that are a prefix and "*"
	lengths  []int // of prefixes, descending
	globs    []tables.PathGlob
	keep     bool // the attribute has too many patterns, or one that cannot be read
}

func valuesOf(a footprint.Attribute) *values {
	v := &values{named: setOf(a.Values), prefixes: make(set)}
	for _, pattern := range a.Patterns {
		glob, problem, _ := tables.ParsePathGlob(pattern)
		switch {
		case problem != "" || glob.MatchesAll():
			v.keep = true
		case glob.IsPrefix():
			v.addPrefix(glob.Prefix())
		default:
			v.globs = append(v.globs, glob)
		}
	}
	v.keep = v.keep || len(v.globs) > maxGlobs
	return v
}

func (v *values) addPrefix(prefix string) {
	v.prefixes[prefix] = struct{}{}
	if at, found := slices.BinarySearchFunc(v.lengths, len(prefix), func(a, b int) int { return b - a }); !found {
		v.lengths = slices.Insert(v.lengths, at, len(prefix))
	}
}

// isRead reports whether any rule compares the attribute.
func (v *values) isRead() bool {
	return v.keep || len(v.named)+len(v.prefixes)+len(v.globs) > 0
}

// append appends a value: itself if it is named, else which patterns it matches. Of
// prefixes the longest that matches determines the others, unless the value has a "/",
// which the "*" of a pattern does not match.
func (v *values) append(b []byte, value string) []byte {
	switch {
	case value == "":
		return append(b, absent)
	case v.keep || v.named.has(value) || strings.Contains(value, "/"),
		len(v.globs) > 0 && len(value) > maxCompared:
		return appendText(b, value)
	}
	b = append(b, unnamed)
	if len(v.lengths) > 0 {
		b = v.appendPrefix(b, value)
	}
	if len(v.globs) > 0 {
		b = v.appendGlobs(b, value)
	}
	return b
}

// appendPrefix appends the longest prefix of the value.
func (v *values) appendPrefix(b []byte, value string) []byte {
	for _, length := range v.lengths {
		if length <= len(value) && v.prefixes.has(value[:length]) {
			return appendText(b, value[:length])
		}
	}
	return append(b, absent)
}

// appendGlobs appends one bit for each glob.
func (v *values) appendGlobs(b []byte, value string) []byte {
	var matched uint64
	for i := range v.globs {
		if g := &v.globs[i]; strings.HasPrefix(value, g.Prefix()) && strings.HasSuffix(value, g.Suffix()) && g.Match(value) {
			matched |= 1 << i
		}
	}
	for range (len(v.globs) + 7) / 8 {
		b = append(b, byte(matched))
		matched >>= 8
	}
	return b
}
