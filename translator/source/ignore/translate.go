package ignore

import (
	"regexp"
	"strings"
)

// translate returns the regular expression of a pattern. It returns false for a pattern
// that matches nothing: one that is empty, or has an open bracket or escape.
func translate(pattern string) (expression string, ok bool) {
	out := &strings.Builder{}
	for i := 0; i < len(pattern); {
		switch pattern[i] {
		case '*':
			i = stars(out, pattern, i)
		case '?':
			out.WriteString("[^/]")
			i++
		case '[':
			class, length := bracket(pattern[i:])
			if length == 0 {
				return "", false
			}
			out.WriteString(class)
			i += length
		case '\\':
			if i+1 == len(pattern) {
				return "", false
			}
			i++
			fallthrough
		default:
			end := i + 1
			for end < len(pattern) && pattern[end]&0xc0 == 0x80 { // the rest of a character
				end++
			}
			out.WriteString(regexp.QuoteMeta(pattern[i:end]))
			i = end
		}
	}
	return out.String(), pattern != ""
}

// stars translates the stars at i and returns the index after them. Two stars that are a
// whole segment match any number of segments.
func stars(out *strings.Builder, pattern string, i int) int {
	end := i
	for end < len(pattern) && pattern[end] == '*' {
		end++
	}
	begins, ends := i == 0 || pattern[i-1] == '/', end == len(pattern) || pattern[end] == '/'
	switch {
	case end-i != 2 || !begins || !ends:
		out.WriteString("[^/]*")
	case end == len(pattern):
		out.WriteString(".*")
	default:
		out.WriteString("(?:.*/)?")
		end++ // the slash
	}
	return end
}

// bracket translates the class at the beginning of a pattern, and returns its length, 0 if
// it has no end.
func bracket(pattern string) (class string, length int) {
	out := &strings.Builder{}
	out.WriteString("[")
	i := 1
	if i < len(pattern) && (pattern[i] == '!' || pattern[i] == '^') {
		out.WriteString("^/")
		i++
	}
	for first := i; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == ']' && i > first:
			out.WriteString("]")
			return out.String(), i + 1
		case c == '[' && strings.HasPrefix(pattern[i:], "[:"):
			end := strings.Index(pattern[i:], ":]")
			if end < 0 {
				return "", 0
			}
			out.WriteString(pattern[i : i+end+2])
			i += end + 1
		case c == '\\' && i+1 < len(pattern):
			i++
			out.WriteString(escaped(pattern[i]))
		case c == '-':
			out.WriteString("-")
		default:
			out.WriteString(escaped(c))
		}
	}
	return "", 0
}

// escaped returns a character of a class. Bytes of other characters need no escape.
func escaped(c byte) string {
	if c < 0x80 && strings.IndexByte(`\]^[-&~`, c) >= 0 {
		return `\` + string(rune(c))
	}
	return string([]byte{c})
}
