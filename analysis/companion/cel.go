package companion

import (
	"slices"
	"strconv"
	"strings"

	"github.com/writ-policy/writ/translator/tables"
)

// Texts of CEL: an empty text is true in a conjunction. "false" and "true" are folded.

// quote returns a string literal. The escapes of Go are those of CEL for texts in UTF-8.
func quote(text string) string { return strconv.Quote(text) }

// List returns a list literal.
func List(values []string) string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = quote(v)
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// isIn is true if a value is one of a list.
func isIn(value string, of []string) string {
	of = tables.Entries(of)
	switch len(of) {
	case 0:
		return "false"
	case 1:
		return value + " == " + quote(of[0])
	}
	return value + " in " + List(of)
}

// allOf joins texts that must all be true.
func allOf(texts ...string) string {
	texts = tables.Once(slices.DeleteFunc(texts, func(t string) bool { return t == "" || t == "true" }))
	if slices.Contains(texts, "false") {
		return "false"
	}
	return join(texts, " && ", " || ")
}

// anyOf joins texts of which one must be true. Without any it is false.
func anyOf(texts ...string) string {
	texts = tables.Once(slices.DeleteFunc(texts, func(t string) bool { return t == "false" }))
	switch {
	case len(texts) == 0:
		return "false"
	case slices.Contains(texts, "true") || slices.Contains(texts, ""):
		return "true"
	}
	return join(texts, " || ", " && ", " ? ")
}

// both joins two texts in brackets.
func both(a, b string) string {
	if a == "false" || b == "false" {
		return "false"
	}
	return "(" + a + " && " + b + ")"
}

// join joins texts, those with a looser operator in brackets.
func join(texts []string, with string, looser ...string) string {
	if len(texts) == 1 {
		return texts[0]
	}
	out := make([]string, len(texts))
	for i, t := range texts {
		if out[i] = t; slices.ContainsFunc(looser, func(op string) bool { return strings.Contains(t, op) }) && !isWrapped(t) {
			out[i] = "(" + t + ")"
		}
	}
	return strings.Join(out, with)
}

// isWrapped reports whether one pair of brackets encloses a text. Brackets in literals make it
// false at worst.
func isWrapped(text string) bool {
	if !strings.HasPrefix(text, "(") || strings.ContainsAny(text, `"`) {
		return false
	}
	depth := 0
	for i, c := range text {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth == 0 && i < len(text)-1 {
			return false
		}
	}
	return true
}

func not(text string) string {
	switch text {
	case "true", "":
		return "false"
	case "false":
		return "true"
	}
	return "!(" + text + ")"
}

func hasPair(present, labels, key string, value *string) string {
	out := allOf(present, quote(key)+" in "+labels)
	if value != nil {
		out += " && " + labels + "[" + quote(key) + "] == " + quote(*value)
	}
	return out
}

// matchesGlob is true if a pattern matches a value; an empty list matches every value.
func matchesGlob(value string, globs []tables.PathGlob) string {
	if len(globs) == 0 {
		return ""
	}
	var words, out []string
	for _, g := range globs {
		literal, ok := g.Literal()
		switch {
		case g.MatchesAll():
			return "true"
		case ok:
			words = append(words, literal)
		default:
			out = append(out, value+".matches("+quote(g.Expression())+")")
		}
	}
	return anyOf(append([]string{isIn(value, words)}, out...)...)
}

// IsSubject is true if the requester, by the variables of Requester, is one of some subjects,
// "user:NAME" or "group:NAME"; nil: everybody.
func IsSubject(subjects []string) string {
	if subjects == nil {
		return ""
	}
	var users, groups []string
	for _, s := range subjects {
		if group, ok := strings.CutPrefix(s, tables.GroupPrefix); ok {
			groups = append(groups, group)
		} else if user := strings.TrimPrefix(s, tables.UserPrefix); user != "" {
			users = append(users, user)
		}
	}
	inGroup := "false"
	if len(groups) > 0 {
		inGroup = "variables.groups.exists(g, " + isIn("g", groups) + ")"
	}
	return anyOf(isIn("variables.user", users), inGroup)
}

// isOperation is true for some operations; all of them: "".
func isOperation(ops [operations]bool) string {
	var names []string
	for op, is := range ops {
		if is {
			names = append(names, operationNames[op])
		}
	}
	if len(names) == int(operations) {
		return ""
	}
	return isIn("request.operation", names)
}
