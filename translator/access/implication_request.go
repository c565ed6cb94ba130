package access

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/tables"
)

// MatchesVerb reports whether the verb list of an Origin rule matches a request
// for a verb on a resource or subresource. Not for the verb "*".
func MatchesVerb(r *tables.OriginRule, verb, subresource string) bool {
	carried := tables.Carried(verb, subresource)
	return anyOf(r.Verbs, carried) && !anyOf(r.NotVerbs, carried)
}

// MatchesKind reports whether the kind list of an Origin rule matches a request
// for a verb on a resource or subresource. The verb counts only as exec and
// proxy do: without a subresource they stand for the one of their name. Not for
// the resource "*".
func MatchesKind(r *tables.OriginRule, verb, resource, subresource string) bool {
	resource, subresource = strings.ToLower(resource), strings.ToLower(subresource)
	if verb = strings.ToLower(verb); subresource == "" && (verb == "exec" || verb == "proxy") {
		subresource = verb
	}
	covers := func(entry string) bool { return coversRequest(entry, resource, subresource) }
	return slices.ContainsFunc(r.Kinds, covers) && !slices.ContainsFunc(r.NotKinds, covers)
}

// anyOf reports whether a list of verb entries names one of those carried.
func anyOf(entries, carried []string) bool {
	return slices.ContainsFunc(entries, func(e string) bool { return e == "*" || slices.Contains(carried, e) })
}

// coversRequest reports whether a kind entry covers a request's resource.
func coversRequest(entry, resource, subresource string) bool {
	if entry == "*" {
		return true
	}
	kind, sub, _ := strings.Cut(entry, "/")
	return (sub == "" || sub == subresource) && (kind == "*" || sameKind(kind, resource))
}
