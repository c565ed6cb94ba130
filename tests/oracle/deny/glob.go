package deny

import (
	"slices"
)

// fitsAny reports whether some glob of a list fits a value.
func fitsAny(globs []string, value string) bool {
	return slices.ContainsFunc(globs, func(glob string) bool { return FitsGlob(glob, value) })
}

// FitsGlob reports whether a well-formed glob fits a whole value. A lone star fits
// everything, the empty value and slashes included; inside a pattern neither
// star nor question mark goes over a slash.
func FitsGlob(glob, value string) bool {
	return glob == "*" || fitsRunes([]rune(glob), []rune(value))
}

func fitsRunes(glob, value []rune) bool {
	if len(glob) == 0 {
		return len(value) == 0
	}
	switch glob[0] {
	case '*':
		for i := 0; ; i++ {
			if fitsRunes(glob[1:], value[i:]) {
				return true
			}
			if i == len(value) || value[i] == '/' {
				return false
			}
		}
	case '?':
		return len(value) > 0 && value[0] != '/' && fitsRunes(glob[1:], value[1:])
	case '[':
		end := classEnd(glob)
		return len(value) > 0 && inClass(glob[1:end], value[0]) && fitsRunes(glob[end+1:], value[1:])
	case '\\':
		return len(value) > 0 && glob[1] == value[0] && fitsRunes(glob[2:], value[1:])
	}
	return len(value) > 0 && glob[0] == value[0] && fitsRunes(glob[1:], value[1:])
}

// classEnd is where the bracket closes that a glob begins with.
func classEnd(glob []rune) int {
	for i := 1; ; i++ {
		switch glob[i] {
		case '\\':
			i++
		case ']':
			return i
		}
	}
}

// inClass reports whether a character is in a class, given without its brackets.
func inClass(class []rune, c rune) bool {
	not := class[0] == '^'
	if not {
		class = class[1:]
	}
	found := false
	next := func() rune {
		if class[0] == '\\' {
			class = class[1:]
		}
		first := class[0]
		class = class[1:]
		return first
	}
	for len(class) > 0 {
		low := next()
		high := low
		if len(class) > 1 && class[0] == '-' {
			class = class[1:]
			high = next()
		}
		found = found || low <= c && c <= high
	}
	return found != not
}
