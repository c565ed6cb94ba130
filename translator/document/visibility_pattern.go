package document

import (
	"errors"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"github.com/writ-policy/writ/translator/diag"
)

// maxPattern bounds a matchPattern, in characters.
const maxPattern = 256

// clusterPattern checks a matchPattern.
func (d *decoder) clusterPattern(n *node, deny bool) {
	if length := utf8.RuneCountInString(n.value); length > maxPattern {
		d.fail(n, diag.BadPattern, "use several rules", "matchPattern has %d characters, at most %d are read", length, maxPattern)
		return
	}
	if !d.regularExpression(n, "matchPattern") {
		return
	}
	// What a Deny matches beyond what was meant is noticed; what an Allow does is not.
	if !deny && !strings.HasPrefix(n.value, "^") && !strings.HasPrefix(n.value, ".*") {
		d.warn(n, diag.UnanchoredPattern, "write \"^\" first to mean the beginning, or \".*\" to mean anywhere",
			"matchPattern %s is searched anywhere in the name", quote(n.value))
	}
}

// regularExpression reports what is no regular expression of RE2.
func (d *decoder) regularExpression(n *node, name string) bool {
	_, err := compiled(n.value)
	if err == nil {
		return true
	}
	problem := err.Error()
	var e *syntax.Error
	if errors.As(err, &e) {
		problem = e.Code.String()
		if e.Expr != "" {
			problem += ": " + quote(e.Expr)
		}
	}
	hint := ""
	if strings.Contains(n.value, "(?!") || strings.Contains(n.value, "(?=") || strings.Contains(n.value, "(?<") {
		hint = "RE2 has no lookaround; name what is meant, or use a rule before this one"
	}
	d.fail(n, diag.BadPattern, hint, "%s %s is no regular expression: %s", name, quote(n.value), problem)
	return false
}

// compiled parses and compiles as regexp.Compile does, whose last step has limits
// of its own.
func compiled(pattern string) (*syntax.Regexp, error) {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, err
	}
	re = re.Simplify()
	_, err = syntax.Compile(re)
	return re, err
}

// everyName reports whether a pattern is found in every name, as far as its form
// tells: "not sure" is false.
func everyName(pattern string) bool {
	if utf8.RuneCountInString(pattern) > maxPattern {
		return false
	}
	re, err := compiled(pattern)
	if err != nil {
		return false
	}
	parts := []*syntax.Regexp{re}
	if re.Op == syntax.OpConcat {
		parts = re.Sub
	}
	first, last := 0, len(parts)
	for first < last && parts[first].Op == syntax.OpBeginText {
		first++
	}
	for first < last && parts[last-1].Op == syntax.OpEndText {
		last--
	}
	if first > 0 && last < len(parts) {
		return last-first == 1 && anyRun(parts[first])
	}
	long := 0 // parts that need a character
	for _, part := range parts[first:last] {
		if matchesEmpty(part) {
			continue
		}
		if long++; long > 1 || !anyRun(part) {
			return false
		}
	}
	return true
}

// anyRun reports whether a part takes the whole of any name, which is not empty.
func anyRun(re *syntax.Regexp) bool {
	for re.Op == syntax.OpCapture {
		re = re.Sub[0]
	}
	if re.Op != syntax.OpStar && re.Op != syntax.OpPlus {
		return false
	}
	return re.Sub[0].Op == syntax.OpAnyChar || re.Sub[0].Op == syntax.OpAnyCharNotNL
}

// matchesEmpty reports whether a part matches the empty string wherever it is.
func matchesEmpty(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpStar, syntax.OpQuest:
		return true
	case syntax.OpCapture, syntax.OpPlus:
		return matchesEmpty(re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if !matchesEmpty(sub) {
				return false
			}
		}
		return true
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			if matchesEmpty(sub) {
				return true
			}
		}
	}
	return false
}
