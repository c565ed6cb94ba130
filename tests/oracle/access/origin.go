package access

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/tests/oracle"
)

// applies reports whether the binding is about the one who asks.
func (b *OriginBinding) applies(r oracle.Request) bool {
	return slices.ContainsFunc(b.Users, r.Is) || slices.ContainsFunc(b.Groups, r.In)
}

// lists reports whether both lists of the rule match the request. Restrictions are
// not looked at.
func (rule *OriginRule) lists(r oracle.Request) bool {
	if r.Path != "" {
		return false
	}
	return rule.matchVerbs(r) && rule.matchKinds(r)
}

func (rule *OriginRule) matchVerbs(r oracle.Request) bool {
	carried := carries(r)
	if slices.Equal(carried, []string{"*"}) {
		return rule.matchAll(rule.Verbs)
	}
	return matchList(rule.Verbs, func(entry string) bool {
		return slices.Contains(carried, strings.ToLower(entry))
	})
}

func (rule *OriginRule) matchKinds(r oracle.Request) bool {
	if r.Resource == "*" {
		return rule.matchAll(rule.Kinds)
	}
	return matchList(rule.Kinds, func(entry string) bool {
		return coversKind(entry, r.Resource, subresource(r))
	})
}

// matchAll answers for a request about everything: a grant must cover the
// whole, a denial needs only to touch it.
func (rule *OriginRule) matchAll(list []string) bool {
	if rule.Deny {
		return slices.ContainsFunc(list, positive) && !slices.Contains(list, "-*")
	}
	return slices.Contains(list, "*") && !slices.ContainsFunc(list, negative)
}

// matchList wants some positive entry that covers and no negative one.
func matchList(list []string, covers func(entry string) bool) bool {
	found := false
	for _, entry := range list {
		without, not := strings.CutPrefix(entry, "-")
		if without != "*" && !covers(without) {
			continue
		}
		if not {
			return false
		}
		found = true
	}
	return found
}

func negative(entry string) bool { return strings.HasPrefix(entry, "-") }
func positive(entry string) bool { return !negative(entry) }

// carries are the verbs an entry may name to cover the request.
func carries(r oracle.Request) []string {
	switch strings.ToLower(r.Subresource) {
	case "exec", "attach":
		return []string{"exec"}
	case "proxy", "portforward":
		return []string{"proxy"}
	}
	verb := strings.ToLower(r.Verb)
	switch {
	case verb == "patch":
		return []string{"patch", "update"}
	case verb == "deletecollection":
		return []string{"deletecollection", "delete"}
	case strings.HasPrefix(verb, "impersonate:"):
		return []string{verb, "impersonate"}
	}
	return []string{verb}
}

// subresource is the one a kind entry sees: the verbs exec and proxy without a
// subresource count as having that of their name.
func subresource(r oracle.Request) string {
	verb := strings.ToLower(r.Verb)
	if r.Subresource == "" && (verb == "exec" || verb == "proxy") {
		return verb
	}
	return strings.ToLower(r.Subresource)
}

// coversKind reports whether a kind entry without its sign covers a resource and
// subresource. The entry is not a lone "*".
func coversKind(entry, resource, sub string) bool {
	kind, entrySub, narrowed := strings.Cut(entry, "/")
	if narrowed && strings.ToLower(entrySub) != sub {
		return false
	}
	return narrowed && kind == "*" || oracle.SameKind(kind, resource)
}
