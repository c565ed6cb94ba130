package visibility

import (
	"errors"
	regexpsyntax "regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
)

// maxPattern is the maximum length of a matchPattern, in characters.
const maxPattern = 256

// checkClusterPattern checks a matchPattern.
func checkClusterPattern(d *syntax.Decoder, n *syntax.Node, deny bool) {
	if length := utf8.RuneCountInString(n.Value); length > maxPattern {
		d.Fail(n, diag.BadPattern, "use several rules", "matchPattern has %d characters, at most %d are read", length, maxPattern)
		return
	}
	if !checkRegularExpression(d, n, "matchPattern") {
		return
	}
	// A Deny that matches too much is noticed by those it affects; an Allow is not.
	if !deny && !strings.HasPrefix(n.Value, "^") && !strings.HasPrefix(n.Value, ".*") {
		d.Warn(n, diag.UnanchoredPattern, "write \"^\" first to mean the beginning, or \".*\" to mean anywhere",
			"matchPattern %s is searched anywhere in the name", syntax.Quote(n.Value))
	}
}

// checkRegularExpression reports an invalid RE2 expression, and whether n is valid.
func checkRegularExpression(d *syntax.Decoder, n *syntax.Node, name string) bool {
	_, err := compiled(n.Value)
	if err == nil {
		return true
	}
	problem := err.Error()
	if e, ok := errors.AsType[*regexpsyntax.Error](err); ok {
		problem = e.Code.String()
		if e.Expr != "" {
			problem += ": " + syntax.Quote(e.Expr)
		}
	}
	hint := ""
	if strings.Contains(n.Value, "(?!") || strings.Contains(n.Value, "(?=") || strings.Contains(n.Value, "(?<") {
		hint = "RE2 has no lookaround; name what is meant, or use a rule before this one"
	}
	d.Fail(n, diag.BadPattern, hint, "%s %s: invalid regular expression: %s", name, syntax.Quote(n.Value), problem)
	return false
}

// compiled parses and compiles an expression. It returns an error if it is invalid or
// too large to compile.
func compiled(pattern string) (*regexpsyntax.Regexp, error) {
	re, err := regexpsyntax.Parse(pattern, regexpsyntax.Perl)
	if err != nil {
		return nil, err
	}
	re = re.Simplify()
	_, err = regexpsyntax.Compile(re)
	return re, err
}

// matchesEveryName reports whether a pattern certainly matches every name. It returns
// false if that cannot be derived from the form of the pattern.
func matchesEveryName(pattern string) bool {
	if utf8.RuneCountInString(pattern) > maxPattern {
		return false
	}
	re, err := compiled(pattern)
	if err != nil {
		return false
	}
	parts := []*regexpsyntax.Regexp{re}
	if re.Op == regexpsyntax.OpConcat {
		parts = re.Sub
	}
	first, last := 0, len(parts)
	for first < last && parts[first].Op == regexpsyntax.OpBeginText {
		first++
	}
	for first < last && parts[last-1].Op == regexpsyntax.OpEndText {
		last--
	}
	if first > 0 && last < len(parts) {
		return last-first == 1 && isAnyRun(parts[first])
	}
	long := 0 // parts that need a character
	for _, part := range parts[first:last] {
		if matchesEmpty(part) {
			continue
		}
		if long++; long > 1 || !isAnyRun(part) {
			return false
		}
	}
	return true
}

// isAnyRun reports whether a part matches any whole name; names are not empty.
func isAnyRun(re *regexpsyntax.Regexp) bool {
	for re.Op == regexpsyntax.OpCapture {
		re = re.Sub[0]
	}
	if re.Op != regexpsyntax.OpStar && re.Op != regexpsyntax.OpPlus {
		return false
	}
	return re.Sub[0].Op == regexpsyntax.OpAnyChar || re.Sub[0].Op == regexpsyntax.OpAnyCharNotNL
}

// matchesEmpty reports whether a part matches the empty string wherever it is.
func matchesEmpty(re *regexpsyntax.Regexp) bool {
	switch re.Op {
	case regexpsyntax.OpEmptyMatch, regexpsyntax.OpStar, regexpsyntax.OpQuest:
		return true
	case regexpsyntax.OpCapture, regexpsyntax.OpPlus:
		return matchesEmpty(re.Sub[0])
	case regexpsyntax.OpConcat:
		return !slices.ContainsFunc(re.Sub, func(sub *regexpsyntax.Regexp) bool { return !matchesEmpty(sub) })
	case regexpsyntax.OpAlternate:
		if slices.ContainsFunc(re.Sub, matchesEmpty) {
			return true
		}
	}
	return false
}
