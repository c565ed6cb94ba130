package deny

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
)

// Glob is a pattern taken apart. It fits whole values, byte for byte but for its
// wildcards, which know no dot: "prod-*" fits "prod-eu.1".
type Glob struct {
	// Everything says that the pattern is "*" alone, which fits every value, also
	// the empty one and one with a slash. Pieces are nil then.
	Everything bool
	// Pieces are what the value consists of, in order. No two literals and no two
	// runs stand next to each other; none at all fit the empty value only.
	Pieces []GlobPiece
}

// GlobPiece is a literal, or one of the wildcards.
type GlobPiece struct {
	Literal string // where Kind is GlobLiteral
	Kind    GlobKind
	Class   []GlobRange // where Kind is GlobClass; never empty
	Negated bool        // the class is of all characters but these
}

// GlobKind says what a GlobPiece is.
type GlobKind uint8

// The kinds of pieces: text, "*" (any run of characters but slashes, also an
// empty one), "?" (one character but a slash), and a class of one character.
const (
	GlobLiteral GlobKind = iota
	GlobRun
	GlobOne
	GlobClass
)

// GlobRange is a range of characters, both ends included.
type GlobRange struct{ First, Last rune }

// ParseGlob takes a pattern apart, or says what is wrong with it and what to type
// instead.
func ParseGlob(pattern string) (g Glob, problem, hint string) {
	if pattern == "*" {
		return Glob{Everything: true}, "", ""
	}
	var literal strings.Builder
	flush := func() {
		if literal.Len() > 0 {
			g.Pieces = append(g.Pieces, GlobPiece{Literal: literal.String()})
			literal.Reset()
		}
	}
	for rest := pattern; rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		next := rest[size:]
		switch r {
		case '*':
			flush()
			if n := len(g.Pieces); n == 0 || g.Pieces[n-1].Kind != GlobRun {
				g.Pieces = append(g.Pieces, GlobPiece{Kind: GlobRun})
			}
		case '?':
			flush()
			g.Pieces = append(g.Pieces, GlobPiece{Kind: GlobOne})
		case '[':
			flush()
			var piece GlobPiece
			if piece, next, problem, hint = globClass(next); problem != "" {
				return Glob{}, problem, hint
			}
			g.Pieces = append(g.Pieces, piece)
		case '{', '}':
			return Glob{}, "has a brace: there are no alternatives", "write one entry for each alternative"
		case '\\':
			if next == "" {
				return Glob{}, `ends in "\"`, `write "\\" to mean "\" itself`
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
	openClass = "has a \"[\" that is not closed"
	noRange   = "has a class in which nothing can be"
)

// globClass reads a class after its opening bracket and returns what follows it.
// A "-" that stands between no two characters is one of them.
func globClass(rest string) (piece GlobPiece, next, problem, hint string) {
	piece.Kind = GlobClass
	if strings.HasPrefix(rest, "!") {
		return piece, "", `has "[!"`, `write "[^"`
	}
	rest, piece.Negated = strings.CutPrefix(rest, "^")
	for {
		if rest == "" {
			return piece, "", openClass, `write "\[" to mean "[" itself`
		}
		if rest[0] == ']' {
			if len(piece.Class) == 0 {
				return piece, "", "has an empty class", "write the characters between the brackets"
			}
			return piece, rest[1:], "", ""
		}
		var first, last rune
		if first, rest, problem = classRune(rest); problem != "" {
			return piece, "", problem, ""
		}
		last = first
		if len(rest) > 1 && rest[0] == '-' && rest[1] != ']' {
			if last, rest, problem = classRune(rest[1:]); problem != "" {
				return piece, "", problem, ""
			}
		}
		if last < first {
			return piece, "", noRange, "write the lower end of a range first"
		}
		piece.Class = append(piece.Class, GlobRange{first, last})
	}
}

// classRune reads one character of a class.
func classRune(rest string) (r rune, next, problem string) {
	if rest[0] == '{' || rest[0] == '}' {
		return 0, "", "has a brace: there are no alternatives"
	}
	if rest[0] == '\\' {
		if rest = rest[1:]; rest == "" {
			return 0, "", openClass
		}
	}
	r, size := utf8.DecodeRuneInString(rest)
	return r, rest[size:], ""
}

// Literal returns the one value a pattern without wildcards fits.
func (g Glob) Literal() (value string, ok bool) {
	switch {
	case g.Everything || len(g.Pieces) > 1:
		return "", false
	case len(g.Pieces) == 0:
		return "", true
	}
	return g.Pieces[0].Literal, g.Pieces[0].Kind == GlobLiteral
}

// Prefix is the text every value begins with that the pattern fits.
func (g Glob) Prefix() string {
	if len(g.Pieces) > 0 && g.Pieces[0].Kind == GlobLiteral {
		return g.Pieces[0].Literal
	}
	return ""
}

// Fits reports whether the pattern fits a value. It keeps every place of the
// value that the pieces so far can end at, so no pattern takes longer than the
// product of both lengths.
func (g Glob) Fits(value string) bool {
	if g.Everything {
		return true
	}
	ends := make([]bool, len(value)+1)
	ends[0] = true
	for _, piece := range g.Pieces {
		next := make([]bool, len(value)+1)
		for at, reached := range ends {
			if reached {
				piece.advance(value, at, next)
			}
		}
		ends = next
	}
	return ends[len(value)]
}

// advance notes where the piece can end that begins at a place of the value.
func (p GlobPiece) advance(value string, at int, ends []bool) {
	rest := value[at:]
	switch p.Kind {
	case GlobLiteral:
		if strings.HasPrefix(rest, p.Literal) {
			ends[at+len(p.Literal)] = true
		}
		return
	case GlobRun:
		// Where a run has ended before, one that began earlier has been on.
		for !ends[at] {
			ends[at] = true
			if at == len(value) || value[at] == '/' {
				break
			}
			_, size := utf8.DecodeRuneInString(value[at:])
			at += size
		}
		return
	case GlobOne, GlobClass: // one character, below
	}
	if rest == "" {
		return
	}
	r, size := utf8.DecodeRuneInString(rest)
	fits := r != '/'
	if p.Kind == GlobClass {
		in := slices.ContainsFunc(p.Class, func(c GlobRange) bool { return c.First <= r && r <= c.Last })
		fits = in != p.Negated
	}
	if fits {
		ends[at+size] = true
	}
}

// checkGlobs checks the entries of a list of globs.
func checkGlobs(d *syntax.Decoder, items []*syntax.Node, name string) {
	for _, n := range items {
		if _, problem, hint := ParseGlob(n.Value); problem != "" {
			d.Fail(n, diag.BadPattern, hint, "glob %s of %s %s", syntax.Quote(n.Value), name, problem)
		}
	}
}
