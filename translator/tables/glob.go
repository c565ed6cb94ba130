package tables

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/writ-policy/writ/internal/elements"
)

// Glob is a pattern for a whole value: "*" matches any run of characters, "?" matches
// exactly one character, and every other character matches itself. The zero value matches
// the empty text. Its text form, also in JSON, is an equivalent RE2 expression, which is
// what Rego evaluates.
type Glob struct {
	// parts are the texts between the stars; one part means a text without stars.
	// The search for a part never returns to an earlier place of the value.
	parts []string
}

// IsGlob reports whether a value of a document is a pattern and not a literal.
func IsGlob(value string) bool { return strings.ContainsAny(value, "*?") }

// ParseGlob parses a pattern. Every text is a valid pattern. Consecutive stars are
// equivalent to one.
func ParseGlob(pattern string) Glob {
	for strings.Contains(pattern, "**") {
		pattern = strings.ReplaceAll(pattern, "**", "*")
	}
	return Glob{strings.Split(pattern, "*")}
}

const globStart, globEnd = `(?s)^`, `$`

// MarshalText returns the RE2 expression.
func (g Glob) MarshalText() ([]byte, error) {
	parts := elements.Map(g.parts, func(part string) string { return strings.ReplaceAll(regexp.QuoteMeta(part), `\?`, `.`) })
	return []byte(globStart + strings.Join(parts, `.*`) + globEnd), nil
}

// UnmarshalText reads what MarshalText writes and rejects every other expression.
func (g *Glob) UnmarshalText(text []byte) error {
	rest := strings.TrimSuffix(strings.TrimPrefix(string(text), globStart), globEnd)
	var pattern strings.Builder
	for rest != "" {
		switch {
		case strings.HasPrefix(rest, `.*`):
			pattern.WriteByte('*')
			rest = rest[2:]
			continue
		case rest[0] == '.':
			pattern.WriteByte('?')
			rest = rest[1:]
			continue
		case rest[0] == '\\':
			rest = rest[1:]
		}
		_, size := utf8.DecodeRuneInString(rest)
		pattern.WriteString(rest[:size])
		rest = rest[size:]
	}
	*g = ParseGlob(pattern.String())
	if again, _ := g.MarshalText(); string(again) != string(text) {
		return fmt.Errorf("%q is not the expression of a pattern", text)
	}
	return nil
}

// Match reports whether the pattern matches the whole value.
func (g Glob) Match(value string) bool {
	if len(g.parts) == 0 {
		return value == ""
	}
	first, last := g.parts[0], g.parts[len(g.parts)-1]
	n, ok := prefix(value, first)
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
	return hasSuffix(value, last)
}

// prefix returns how many bytes part matches at the start of value.
func prefix(value, part string) (int, bool) {
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

// find returns where the first match of part in value ends.
func find(value, part string) (int, bool) {
	if strings.IndexByte(part, '?') < 0 {
		at := strings.Index(value, part)
		return at + len(part), at >= 0
	}
	for at := range value {
		if n, ok := prefix(value[at:], part); ok {
			return at + n, true
		}
	}
	return 0, false
}

// hasSuffix reports whether part matches the end of value. The number of characters
// that part matches is fixed, so there is one place where it can start.
func hasSuffix(value, part string) bool {
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
	_, ok := prefix(value[at:], part)
	return ok
}

// PieceKind is what a Piece matches.
type PieceKind uint8

// The kinds of pieces.
const (
	PieceText PieceKind = iota // Text
	PieceRun                   // any run of characters
	PieceOne                   // one character
)

// Piece is a part of a pattern. Printers of other languages read pieces.
type Piece struct {
	Kind PieceKind
	Text string // of a PieceText, never empty
}

// Pieces returns the pieces of the pattern in order.
func (g Glob) Pieces() []Piece {
	var out []Piece
	for i, part := range g.parts {
		if i > 0 {
			out = append(out, Piece{Kind: PieceRun})
		}
		for j, text := range strings.Split(part, "?") {
			if j > 0 {
				out = append(out, Piece{Kind: PieceOne})
			}
			if text != "" {
				out = append(out, Piece{Text: text})
			}
		}
	}
	return out
}
