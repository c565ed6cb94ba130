package engine

import (
	"strings"
	"unicode/utf8"
)

// glob is a pattern over a whole value: * is any run of characters, ? exactly one,
// everything else itself. It is cut at its stars once, so that a value is searched
// and never tried again from an earlier place.
type glob struct {
	parts []string // between stars; one part: no star
}

func newGlob(pattern string) glob { return glob{strings.Split(pattern, "*")} }

func (g glob) fits(value string) bool {
	first, last := g.parts[0], g.parts[len(g.parts)-1]
	n, ok := begins(value, first)
	if !ok {
		return false
	}
	if len(g.parts) == 1 {
		return n == len(value)
	}
	value = value[n:]
	for _, part := range g.parts[1 : len(g.parts)-1] {
		if n, ok = find(value, part); !ok {
			return false
		}
		value = value[n:]
	}
	return ends(value, last)
}

// begins is how many bytes of value part takes at its beginning.
func begins(value, part string) (int, bool) {
	if strings.IndexByte(part, '?') < 0 {
		return len(part), strings.HasPrefix(value, part)
	}
	at := 0
	for _, want := range part {
		got, size := utf8.DecodeRuneInString(value[at:])
		if size == 0 || want != '?' && got != want {
			return 0, false
		}
		at += size
	}
	return at, true
}

// find is where the first part in value ends.
func find(value, part string) (int, bool) {
	if strings.IndexByte(part, '?') < 0 {
		at := strings.Index(value, part)
		return at + len(part), at >= 0
	}
	for at := range value {
		if n, ok := begins(value[at:], part); ok {
			return at + n, true
		}
	}
	return 0, false
}

// ends reports whether part fits the end of value. It has as many characters as
// it takes, so there is one place where it can begin.
func ends(value, part string) bool {
	if strings.IndexByte(part, '?') < 0 {
		return strings.HasSuffix(value, part)
	}
	at := len(value)
	for range utf8.RuneCountInString(part) {
		if at == 0 {
			return false
		}
		_, size := utf8.DecodeLastRuneInString(value[:at])
		at -= size
	}
	_, ok := begins(value[at:], part)
	return ok
}
