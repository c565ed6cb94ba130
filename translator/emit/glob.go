package emit

import (
	"regexp"
	"strings"
)

// glob is a pattern taken apart. All globs of documents have one grammar: "*" is
// a run without "/", "?" one character but "/", "[...]" a class, "\" takes the
// next character as it is; "*" alone fits everything.
type glob struct {
	// prefix and suffix are the literal text before the first and after the last
	// wildcard; literal is true where there is no wildcard.
	prefix, suffix string
	literal        bool
	// star is true where the only wildcard is one "*" between them.
	star bool
	// expression is the pattern as an RE2 expression over the whole value.
	expression string
}

func parseGlob(pattern string) glob {
	var g glob
	var expression, text strings.Builder
	wildcards, stars := 0, 0
	flush := func() {
		expression.WriteString(regexp.QuoteMeta(text.String()))
		if wildcards == 0 {
			g.prefix = text.String()
		}
		text.Reset()
	}
	runes := []rune(pattern)
	for i := 0; i < len(runes); i++ {
		switch c := runes[i]; c {
		case '*', '?', '[':
			flush()
			wildcards++
			switch c {
			case '*':
				stars++
				expression.WriteString(`[^/]*`)
			case '?':
				expression.WriteString(`[^/]`)
			default:
				end := classEnd(runes, i)
				expression.WriteString(class(runes[i+1 : min(end, len(runes))]))
				i = end
			}
		case '\\':
			i++
			if i < len(runes) {
				text.WriteRune(runes[i])
			}
		default:
			text.WriteRune(c)
		}
	}
	g.literal = wildcards == 0
	g.suffix = text.String()
	flush()
	g.star = wildcards == 1 && stars == 1
	g.expression = `^(?s:` + expression.String() + `)$`
	return g
}

// matches reports whether a value fits. The expression is RE2, OPA's and Go's.
func (g glob) matches(value string) bool {
	fits, err := regexp.MatchString(g.expression, value)
	return err == nil && fits
}

// classEnd is the place of the bracket that closes the class opened at i.
func classEnd(runes []rune, i int) int {
	for i++; i < len(runes) && runes[i] != ']'; i++ {
		if runes[i] == '\\' {
			i++
		}
	}
	return i
}

// class writes a character class, "^" and ranges as they are.
func class(runes []rune) string {
	var out strings.Builder
	out.WriteByte('[')
	for i := 0; i < len(runes); i++ {
		c := runes[i]
		switch {
		case c == '^' && i == 0, c == '-' && i > 0 && i < len(runes)-1:
			out.WriteRune(c)
		case c == '\\' && i+1 < len(runes):
			i++
			out.WriteString(quoteInClass(runes[i]))
		default:
			out.WriteString(quoteInClass(c))
		}
	}
	out.WriteByte(']')
	return out.String()
}

func quoteInClass(c rune) string {
	if strings.ContainsRune(`\]^[-&~`, c) {
		return `\` + string(c)
	}
	return string(c)
}

// conditions are the Rego expressions that hold where the value of the reference
// fits the pattern, what OPA's rule index can use first. None: everything fits.
func (g glob) conditions(ref string) []string {
	switch {
	case g.literal:
		return []string{ref + " == " + quote(g.prefix)}
	case g.star && g.prefix == "" && g.suffix == "":
		return nil
	}
	var conditions []string
	if g.prefix != "" {
		conditions = append(conditions, "startswith("+ref+", "+quote(g.prefix)+")")
	}
	if g.suffix != "" && g.star {
		conditions = append(conditions, "endswith("+ref+", "+quote(g.suffix)+")")
	}
	return append(conditions, "regex.match("+quote(g.expression)+", "+ref+")")
}
