package emit

import (
	"regexp/syntax"
	"strings"
)

// SampleExpression returns a text that a regular expression is likely to match. The caller has
// to check it. It is empty for a text that is not an expression.
func SampleExpression(pattern string) string {
	expression, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return ""
	}
	return sampleExpression(expression)
}

func sampleExpression(e *syntax.Regexp) string {
	switch e.Op {
	case syntax.OpLiteral:
		return string(e.Rune)
	case syntax.OpCharClass:
		return string(sampleRune(e.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return "x"
	case syntax.OpConcat:
		var out strings.Builder
		for _, part := range e.Sub {
			out.WriteString(sampleExpression(part))
		}
		return out.String()
	case syntax.OpCapture, syntax.OpPlus, syntax.OpAlternate:
		return sampleExpression(e.Sub[0])
	case syntax.OpRepeat:
		return strings.Repeat(sampleExpression(e.Sub[0]), e.Min)
	}
	return "" // optional parts, and positions between characters
}

// sampleRune returns a plain character of a class if it has one, else its first.
func sampleRune(ranges []rune) rune {
	for _, r := range "a1A-" {
		for i := 0; i+1 < len(ranges); i += 2 {
			if ranges[i] <= r && r <= ranges[i+1] {
				return r
			}
		}
	}
	if len(ranges) == 0 {
		return 'x' // an empty class, which no text matches
	}
	return ranges[0]
}
