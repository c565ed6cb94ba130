package deny

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
)

// checkWords checks the entries of a word list: each is a whole word or "*" alone. An
// entry that reads like a pattern would match nothing, and a denial that never
// denies is a mistake.
func checkWords(d *syntax.Decoder, items []*syntax.Node, name string, problem func(entry string) (problem, hint string)) {
	for _, n := range items {
		if n.Value == "*" {
			continue
		}
		if p, hint := problem(n.Value); p != "" {
			d.Fail(n, diag.BadPattern, hint, "entry %s of %s %s", syntax.Quote(n.Value), name, p)
		}
	}
}

// anyWord is what is wrong with a word that may be empty.
func anyWord(entry string) (problem, hint string) {
	if strings.ContainsAny(entry, "*?[]{}") {
		return "has a wildcard inside", `name each one: "*" stands alone`
	}
	return "", ""
}

// word is what is wrong with a word that no request has as an empty one.
func word(entry string) (problem, hint string) {
	if entry == "" {
		return "is empty", `write "*" to mean all`
	}
	return anyWord(entry)
}

// resourceWord is word for a resource, which may have a subresource as in RBAC.
// What follows the first slash is the subresource, further slashes included: keys
// of users' extra fields have them.
func resourceWord(entry string) (problem, hint string) {
	resource, sub, narrow := strings.Cut(entry, "/")
	if !narrow {
		return word(entry)
	}
	if sub == "" && resource != "" {
		return "names no subresource", `write "` + resource + `" with subresources: [""] to mean the resource alone`
	}
	for _, part := range []string{resource, sub} {
		if part == "*" {
			continue
		}
		if problem, hint := word(part); problem != "" {
			return problem, hint
		}
	}
	return "", ""
}

// nameless are the verbs whose requests have no name. Only create gets one where
// it is about a subresource.
var nameless = []string{"list", "watch", "create", "deletecollection"}

// checkNeverNamed warns of a rule whose names no request of its verbs can have.
func checkNeverNamed(d *syntax.Decoder, c *syntax.Cursor, r *DenyRule) {
	mayBeNamed := func(verb string) bool { return !slices.Contains(nameless, verb) }
	if !needsName(r.ResourceNames) || len(r.Verbs) == 0 || slices.ContainsFunc(r.Verbs, mayBeNamed) {
		return
	}
	about := "the rule matches nothing"
	if slices.Contains(r.Verbs, "create") {
		if namesSubresource(r) {
			return
		}
		if len(r.Subresources) == 0 || slices.Contains(r.Subresources, "*") {
			about = "the rule matches nothing but subresources"
		}
	}
	d.Warn(c.Field("resourceNames").Key, diag.MatchesNothing, "leave resourceNames out, or add \"\" to it",
		"resourceNames with no verb but %s, whose requests have no name: %s", strings.Join(r.Verbs, ", "), about)
}

// namesSubresource reports whether a rule names a subresource it is about.
func namesSubresource(r *DenyRule) bool {
	return slices.ContainsFunc(r.Subresources, func(s string) bool { return s != "" && s != "*" }) ||
		slices.ContainsFunc(r.Resources, func(s string) bool { return strings.Contains(s, "/") })
}
