package tables

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// MarshalText returns a pattern that ParsePathGlob parses to g.
func (g PathGlob) MarshalText() ([]byte, error) {
	if g.everything {
		return []byte("*"), nil
	}
	var out strings.Builder
	for _, piece := range g.pieces {
		switch piece.kind {
		case globRun:
			out.WriteByte('*')
		case globOne:
			out.WriteByte('?')
		case globClass:
			piece.writeClass(&out)
		case globLiteral:
			out.WriteString(globEscapes.Replace(piece.literal))
		}
	}
	if out.String() == "*" {
		return []byte("**"), nil // "*" alone matches more values
	}
	return []byte(out.String()), nil
}

// globEscapes escapes the characters with a special meaning in a pattern.
var globEscapes = strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `{`, `\{`, `}`, `\}`, `\`, `\\`)

// writeClass writes the class as in a pattern.
func (p globPiece) writeClass(out *strings.Builder) {
	out.WriteByte('[')
	if p.negated {
		out.WriteByte('^')
	}
	for _, r := range p.class {
		fmt.Fprintf(out, `\%c`, r.first)
		if r.last != r.first {
			fmt.Fprintf(out, `-\%c`, r.last)
		}
	}
	out.WriteByte(']')
}

// UnmarshalText reads what MarshalText writes and rejects every other pattern.
func (g *PathGlob) UnmarshalText(text []byte) error {
	parsed, problem, _ := ParsePathGlob(string(text))
	if problem != "" {
		return fmt.Errorf("pattern %q %s", text, problem)
	}
	if again, _ := parsed.MarshalText(); string(again) != string(text) {
		return fmt.Errorf("%q is not the canonical text of a pattern", text)
	}
	*g = parsed
	return nil
}

// Expression returns the pattern as an RE2 expression for the whole value, which Rego
// evaluates. It must not be used for the pattern "*", which matches more values.
func (g PathGlob) Expression() string {
	var out strings.Builder
	out.WriteString(`^(?s:`)
	for _, piece := range g.pieces {
		switch piece.kind {
		case globRun:
			out.WriteString(`[^/]*`)
		case globOne:
			out.WriteString(`[^/]`)
		case globClass:
			out.WriteString(piece.classExpression())
		case globLiteral:
			out.WriteString(regexp.QuoteMeta(piece.literal))
		}
	}
	out.WriteString(`)$`)
	return out.String()
}

// classExpression writes characters by their numbers, because "]", "^" and "-" have a
// special meaning in a class.
func (p globPiece) classExpression() string {
	var out strings.Builder
	out.WriteByte('[')
	if p.negated {
		out.WriteByte('^')
	}
	for _, r := range p.class {
		fmt.Fprintf(&out, `\x{%x}-\x{%x}`, r.first, r.last)
	}
	out.WriteByte(']')
	return out.String()
}

// Sample returns a value that the pattern matches, for generated tests.
func (g PathGlob) Sample() string { return g.Named("x") }

// Named returns a value that the pattern matches, with a word for each "*". It is the word
// itself for the pattern "*".
func (g PathGlob) Named(word string) string {
	if g.everything {
		return word
	}
	var out strings.Builder
	for _, piece := range g.pieces {
		switch piece.kind {
		case globLiteral:
			out.WriteString(piece.literal)
		case globClass:
			out.WriteRune(piece.member())
		case globRun:
			out.WriteString(word)
		case globOne:
			out.WriteByte('x')
		}
	}
	return out.String()
}

// member returns a character that the class matches: its first one or, for a negated
// class, the first of some candidates.
func (p globPiece) member() rune {
	if !p.negated {
		return p.class[0].first
	}
	for _, c := range "abcxyz0189-." {
		if (PathGlob{pieces: []globPiece{p}}).Match(string(c)) {
			return c
		}
	}
	return '_'
}

// PatternOf returns the pattern that a regular expression was made of: that of Expression, or a
// word with classes of characters. For the expression of a prefix, it returns the prefix and
// false.
func PatternOf(expression string) (pattern string, isWhole bool) {
	body := strings.TrimPrefix(expression, "^")
	if !strings.HasSuffix(body, "$") || strings.HasSuffix(body, `\$`) {
		return unquoted.ReplaceAllString(body, "$1"), false
	}
	body = strings.TrimSuffix(body, "$")
	if inner, isGlob := strings.CutPrefix(body, "(?s:"); isGlob {
		body = strings.TrimSuffix(inner, ")")
	}
	pattern = expressionParts.ReplaceAllStringFunc(body, func(part string) string {
		switch {
		case part == `[^/]*`:
			return "*"
		case part == `[^/]`:
			return "?"
		case part[0] == '[':
			return classCharacters.ReplaceAllStringFunc(part, func(number string) string {
				code, _ := strconv.ParseInt(number[len(`\x{`):len(number)-1], 16, 32)
				return `\` + string(rune(code))
			})
		}
		return EscapePathGlob(strings.TrimPrefix(part, `\`))
	})
	if pattern == "*" {
		pattern = "**" // "*" alone matches more values
	}
	return pattern, true
}

var (
	unquoted        = regexp.MustCompile(`(?s)\\(.)`)
	expressionParts = regexp.MustCompile(`(?s)\[\^/\]\*?|\[[^\]]*\]|\\.|.`)
	classCharacters = regexp.MustCompile(`\\x\{[0-9a-f]+\}`)
)
