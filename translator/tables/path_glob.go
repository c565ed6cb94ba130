package tables

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// PathGlob is a parsed pattern in which "*", "?" and "[a-z]" stand for characters other
// than "/", so that "prod-*" matches "prod-eu.1". It matches whole values, byte for byte
// but for its wildcards. The pattern "*" alone matches every value. The zero value
// matches the empty value only.
type PathGlob struct {
	everything bool // the pattern is "*", without pieces
	// pieces match the value in order. No two literals and no two runs are neighbours.
	pieces []globPiece
}

// globPiece is a literal or one wildcard.
type globPiece struct {
	literal string // of a globLiteral
	kind    globKind
	class   []runeRange // of a globClass; never empty
	negated bool        // the class is of all characters but these
}

type globKind uint8

const (
	globLiteral globKind = iota
	globRun              // "*": any run of characters but "/", also an empty one
	globOne              // "?": one character but "/"
	globClass            // "[...]": one character of a class
)

// runeRange is a range of characters, both ends included.
type runeRange struct{ first, last rune }

// MatchesAll reports whether the pattern is "*", which matches every value, also the
// empty one and one with a slash.
func (g PathGlob) MatchesAll() bool { return g.everything }

// Literal returns the only value that a pattern without wildcards matches.
func (g PathGlob) Literal() (value string, ok bool) {
	switch {
	case g.everything || len(g.pieces) > 1:
		return "", false
	case len(g.pieces) == 0:
		return "", true
	}
	return g.pieces[0].literal, g.pieces[0].kind == globLiteral
}

// Prefix returns the text that each matched value begins with.
func (g PathGlob) Prefix() string {
	if len(g.pieces) > 0 && g.pieces[0].kind == globLiteral {
		return g.pieces[0].literal
	}
	return ""
}

// Suffix returns the text that each matched value ends with.
func (g PathGlob) Suffix() string {
	if last := len(g.pieces) - 1; last >= 0 && g.pieces[last].kind == globLiteral {
		return g.pieces[last].literal
	}
	return ""
}

// IsPrefix reports whether the pattern is Prefix and one "*": it matches each value that
// begins with Prefix and has no "/" behind it.
func (g PathGlob) IsPrefix() bool {
	last := len(g.pieces) - 1
	return last >= 0 && g.pieces[last].kind == globRun && (last == 0 || last == 1 && g.pieces[0].kind == globLiteral)
}

// Match reports whether the pattern matches a value. It tracks every offset at which the
// pieces so far can end, so the time is bounded by the product of both lengths.
func (g PathGlob) Match(value string) bool {
	if g.everything {
		return true
	}
	ends := make([]bool, len(value)+1)
	ends[0] = true
	for _, piece := range g.pieces {
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

// advance marks in ends the offsets at which the piece can end if it begins at the given
// offset of the value.
func (p globPiece) advance(value string, at int, ends []bool) {
	rest := value[at:]
	switch p.kind {
	case globLiteral:
		if strings.HasPrefix(rest, p.literal) {
			ends[at+len(p.literal)] = true
		}
		return
	case globRun:
		// If an end is already marked, an earlier run has marked all further ones.
		for !ends[at] {
			ends[at] = true
			if at == len(value) || value[at] == '/' {
				break
			}
			_, size := utf8.DecodeRuneInString(value[at:])
			at += size
		}
		return
	case globOne, globClass: // one character, below
	}
	if rest == "" {
		return
	}
	r, size := utf8.DecodeRuneInString(rest)
	matches := r != '/'
	if p.kind == globClass {
		in := slices.ContainsFunc(p.class, func(c runeRange) bool { return c.first <= r && r <= c.last })
		matches = in != p.negated
	}
	if matches {
		ends[at+size] = true
	}
}

// Variants returns the pieces of patterns without classes that together match what g
// matches, in which runs and single characters do not match a slash. A class of characters
// has at most maxClass of them, and there are at most maxVariants patterns; it returns false
// otherwise, for a negated class, and for "*" alone, which matches slashes.
func (g PathGlob) Variants(maxClass, maxVariants int) ([][]Piece, bool) {
	if g.everything {
		return nil, false
	}
	out := [][]Piece{nil}
	for _, p := range g.pieces {
		var choices []Piece
		switch p.kind {
		case globLiteral:
			choices = []Piece{{Text: p.literal}}
		case globRun:
			choices = []Piece{{Kind: PieceRun}}
		case globOne:
			choices = []Piece{{Kind: PieceOne}}
		case globClass:
			for _, r := range p.class {
				if p.negated || int(r.last-r.first) >= maxClass-len(choices) {
					return nil, false
				}
				for c := r.first; c <= r.last; c++ {
					choices = append(choices, Piece{Text: string(c)})
				}
			}
		}
		if len(out)*len(choices) > maxVariants {
			return nil, false
		}
		var longer [][]Piece
		for _, begun := range out {
			for _, choice := range choices {
				longer = append(longer, appendPiece(begun, choice))
			}
		}
		out = longer
	}
	return out, true
}

// appendPiece appends a piece to a copy of a list. Neighbouring texts become one.
func appendPiece(list []Piece, p Piece) []Piece {
	out := append(make([]Piece, 0, len(list)+1), list...)
	if last := len(out) - 1; last >= 0 && p.Kind == PieceText && out[last].Kind == PieceText {
		out[last].Text += p.Text
		return out
	}
	return append(out, p)
}

// EscapePathGlob returns the pattern of a PathGlob that matches a text alone.
func EscapePathGlob(text string) string { return globEscapes.Replace(text) }
