package deny

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/writ-policy/writ/translator/regotext"
)

// globOf takes a pattern apart that the decoder has let in. One it would refuse
// fits nothing.
func globOf(pattern string) Glob {
	g, problem, _ := ParseGlob(pattern)
	if problem != "" {
		return Glob{Pieces: []GlobPiece{{Kind: GlobClass, Negated: true, Class: []GlobRange{{First: 0, Last: '\U0010ffff'}}}}}
	}
	return g
}

// globConditions are the Rego expressions that hold where the value of the
// reference fits the pattern, what OPA's rule index can use first. None:
// everything fits.
func globConditions(ref, pattern string) []string {
	g := globOf(pattern)
	if g.Everything {
		return nil
	}
	if literal, ok := g.Literal(); ok {
		return []string{ref + " == " + regotext.Quote(literal)}
	}
	var conditions []string
	if prefix := g.Prefix(); prefix != "" {
		conditions = append(conditions, "startswith("+ref+", "+regotext.Quote(prefix)+")")
	}
	if last := g.Pieces[len(g.Pieces)-1]; last.Kind == GlobLiteral {
		conditions = append(conditions, "endswith("+ref+", "+regotext.Quote(last.Literal)+")")
	}
	return append(conditions, "regex.match("+regotext.Quote(expression(g))+", "+ref+")")
}

// expression is the pattern as an RE2 expression over the whole value.
func expression(g Glob) string {
	var out strings.Builder
	out.WriteString(`^(?s:`)
	for _, piece := range g.Pieces {
		switch piece.Kind {
		case GlobRun:
			out.WriteString(`[^/]*`)
		case GlobOne:
			out.WriteString(`[^/]`)
		case GlobClass:
			out.WriteString(class(piece))
		default:
			out.WriteString(regexp.QuoteMeta(piece.Literal))
		}
	}
	out.WriteString(`)$`)
	return out.String()
}

// class writes characters by their numbers, since "]", "^" and "-" mean other
// things in a class.
func class(piece GlobPiece) string {
	var out strings.Builder
	out.WriteByte('[')
	if piece.Negated {
		out.WriteByte('^')
	}
	for _, r := range piece.Class {
		fmt.Fprintf(&out, `\x{%x}-\x{%x}`, r.First, r.Last)
	}
	out.WriteByte(']')
	return out.String()
}

// sampleGlob is a value that fits the pattern.
func sampleGlob(pattern string) string {
	var out strings.Builder
	for _, piece := range globOf(pattern).Pieces {
		switch piece.Kind {
		case GlobLiteral:
			out.WriteString(piece.Literal)
		case GlobClass:
			out.WriteRune(memberOf(piece))
		default:
			out.WriteByte('x')
		}
	}
	return out.String()
}

// memberOf is a character that fits a class: its first, or of a negated one the
// first of a few that it does not name.
func memberOf(piece GlobPiece) rune {
	if !piece.Negated {
		return piece.Class[0].First
	}
	for _, c := range "abcxyz0189-." {
		if (Glob{Pieces: []GlobPiece{piece}}).Fits(string(c)) {
			return c
		}
	}
	return '_'
}
