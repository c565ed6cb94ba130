package rule

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/tables"
)

// CoversResource reports whether an entry of a Kubernetes rule's resources matches
// every resource that another entry matches.
func CoversResource(held, wanted string) bool {
	if held == "*" || held == wanted {
		return true
	}
	sub, ok := strings.CutPrefix(held, "*/")
	if !ok {
		return false
	}
	_, wantedSub, ok := strings.Cut(wanted, "/")
	return ok && wantedSub == sub
}

// CoversPath reports whether an entry of nonResourceURLs matches a path, or every path
// that another entry matches. Only a "*" at the end is a wildcard.
func CoversPath(pattern, path string) bool {
	return pattern == path ||
		strings.HasSuffix(pattern, "*") && strings.HasPrefix(path, strings.TrimRight(pattern, "*"))
}

// coversVerb reports whether an Origin verb entry covers every request that another
// entry covers. update also covers patch, and delete covers deletecollection.
func coversVerb(held, wanted string) bool {
	return held == "*" || wanted != "*" && slices.Contains(Carried(wanted, ""), held)
}

// disjointVerbs reports whether no request matches both verb entries.
func disjointVerbs(a, b string) bool {
	return a != "*" && b != "*" && !coversVerb(a, b) && !coversVerb(b, a)
}

// coversKind reports whether an Origin kind entry covers everything that another entry
// covers. An entry of a kind covers its subresources.
func coversKind(held, wanted string) bool {
	if held == "*" {
		return true
	}
	heldKind, heldSub, _ := strings.Cut(held, "/")
	kind, sub, _ := strings.Cut(wanted, "/")
	if heldSub != "" && heldSub != sub {
		return false
	}
	return heldKind == "*" || kind != "*" && SameKind(heldKind, kind)
}

// disjointKinds reports whether no kind and subresource matches both entries.
func disjointKinds(a, b string) bool {
	kindA, subA, _ := strings.Cut(a, "/")
	kindB, subB, _ := strings.Cut(b, "/")
	if kindA != "*" && kindB != "*" && !SameKind(kindA, kindB) {
		return true
	}
	return subA != "" && subB != "" && subA != subB
}

// SameKind reports whether two lower-case words name the same kind, as singular or
// plural.
func SameKind(a, b string) bool { return a == b || isPlural(a, b) || isPlural(b, a) }

// isPlural compares lengths and beginnings first: a plural has one or two letters more, and
// only the last letter of its word may be another one in it.
func isPlural(plural, word string) bool {
	more := len(plural) - len(word)
	return word != "" && (more == 1 || more == 2) && strings.HasPrefix(plural, word[:len(word)-1]) && tables.Plural(word) == plural
}

// MatchesNothing reports whether a rule matches no request, because a list has no
// positive entry or negates everything.
func MatchesNothing(r *tables.OriginRule) bool {
	return len(r.Verbs) == 0 || len(r.Kinds) == 0 ||
		slices.Contains(r.NotVerbs, "*") || slices.Contains(r.NotKinds, "*")
}

func covers(positive, negative []string, wanted string, less []string, covers, disjoint func(a, b string) bool) bool {
	var c Budget
	return c.coverAll([]string{wanted}, positive, covers) && c.harmless(negative, []string{wanted}, less, covers, disjoint)
}

func touches(positive, negative []string, wanted string, less []string, covers, disjoint func(a, b string) bool) bool {
	if slices.ContainsFunc(negative, func(n string) bool { return covers(n, wanted) }) {
		return false
	}
	return slices.ContainsFunc(positive, func(p string) bool {
		return !disjoint(p, wanted) &&
			!slices.ContainsFunc(negative, func(n string) bool { return covers(n, p) }) &&
			!slices.ContainsFunc(less, func(n string) bool { return covers(n, p) })
	})
}

// EffectiveVerbs returns the positive verb entries of a rule that its negative entries
// do not exclude entirely.
func EffectiveVerbs(r *tables.OriginRule) []string { return effective(r.Verbs, r.NotVerbs, coversVerb) }

// EffectiveKinds is EffectiveVerbs for kinds.
func EffectiveKinds(r *tables.OriginRule) []string { return effective(r.Kinds, r.NotKinds, coversKind) }

func effective(positive, negative []string, covers func(held, wanted string) bool) []string {
	return slices.DeleteFunc(slices.Clone(positive), func(p string) bool {
		return slices.ContainsFunc(negative, func(n string) bool { return covers(n, p) })
	})
}

// MatchesVerb reports whether the verb list of an Origin rule matches a request for a verb on
// a resource or subresource.
func MatchesVerb(r *tables.OriginRule, verb, subresource string) bool {
	w := originVerb(verb, subresource)
	return Origin(r, new(Lists))[0].covers(&w)
}

// MatchesKind reports whether the kind list of an Origin rule matches a request for a verb on a
// resource or subresource.
func MatchesKind(r *tables.OriginRule, verb, resource, subresource string) bool {
	w := originTarget(resource, Subresource(verb, subresource))
	return Origin(r, new(Lists))[1].covers(&w)
}

// HasOrStar reports whether a list has an entry or "*".
func HasOrStar(entries []string, wanted string) bool {
	return slices.Contains(entries, "*") || slices.Contains(entries, wanted)
}
