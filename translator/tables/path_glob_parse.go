package tables

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxPattern is how many bytes a pattern may have, also one of a built bundle: the time of
// matching grows with it. The canonical text of a pattern of documents is shorter.
const maxPattern = 1024

// ParsePathGlob parses a pattern. If problem is not empty, the pattern is invalid and g
// is the zero value; hint, which may be empty, states what to write instead.
func ParsePathGlob(pattern string) (g PathGlob, problem, hint string) {
	if pattern == "*" {
		return PathGlob{everything: true}, "", ""
	}
	if len(pattern) > maxPattern {
		return PathGlob{}, fmt.Sprintf("has %d bytes: must have at most %d", len(pattern), maxPattern), ""
	}
	var literal strings.Builder
	flush := func() {
		if literal.Len() > 0 {
			g.pieces = append(g.pieces, globPiece{literal: literal.String()})
			literal.Reset()
		}
	}
	for rest := pattern; rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		next := rest[size:]
		switch r {
		case '*':
			flush()
			if n := len(g.pieces); n == 0 || g.pieces[n-1].kind != globRun {
				g.pieces = append(g.pieces, globPiece{kind: globRun})
			}
		case '?':
			flush()
			g.pieces = append(g.pieces, globPiece{kind: globOne})
		case '[':
			flush()
			var piece globPiece
			if piece, next, problem, hint = parseClass(next); problem != "" {
				return PathGlob{}, problem, hint
			}
			g.pieces = append(g.pieces, piece)
		case '{', '}':
			return PathGlob{}, "has a brace: alternatives are not supported", "write one entry for each alternative"
		case '\\':
			if next == "" {
				return PathGlob{}, `ends in "\"`, `write "\\" to mean "\" itself`
			}
			_, size = utf8.DecodeRuneInString(next)
			literal.WriteString(next[:size])
			next = next[size:]
		default:
			literal.WriteString(rest[:size])
		}
		rest = next
	}
	flush()
	return g, "", ""
}

const (
	openClass  = "has a \"[\" that is not closed"
	emptyRange = "has a class in which nothing can be"
)

// parseClass parses a class after its opening bracket and returns what follows it. A
// "-" that is not between two characters is one of them.
func parseClass(rest string) (piece globPiece, next, problem, hint string) {
	piece.kind = globClass
	if strings.HasPrefix(rest, "!") {
		return piece, "", `has "[!"`, `write "[^"`
	}
	rest, piece.negated = strings.CutPrefix(rest, "^")
	for {
		if rest == "" {
			return piece, "", openClass, `write "\[" to mean "[" itself`
		}
		if rest[0] == ']' {
			if len(piece.class) == 0 {
				return piece, "", "has an empty class", "write the characters between the brackets"
			}
			return piece, rest[1:], "", ""
		}
		var first, last rune
		if first, rest, problem = parseClassRune(rest); problem != "" {
			return piece, "", problem, ""
		}
		last = first
		if len(rest) > 1 && rest[0] == '-' && rest[1] != ']' {
			if last, rest, problem = parseClassRune(rest[1:]); problem != "" {
				return piece, "", problem, ""
			}
		}
		if last < first {
			return piece, "", emptyRange, "write the lower end of a range first"
		}
		piece.class = append(piece.class, runeRange{first, last})
	}
}

// parseClassRune parses one character of a class.
func parseClassRune(rest string) (r rune, next, problem string) {
	if rest[0] == '{' || rest[0] == '}' {
		return 0, "", "has a brace: alternatives are not supported"
	}
	if rest[0] == '\\' {
		if rest = rest[1:]; rest == "" {
			return 0, "", openClass
		}
	}
	r, size := utf8.DecodeRuneInString(rest)
	return r, rest[size:], ""
}
