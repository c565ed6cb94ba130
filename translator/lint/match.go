package lint

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/access"
	"github.com/writ-policy/writ/translator/tables"
)

// A grant matches an entry if it covers all of it. A denial matches if it covers a part
// of it: a permission that is denied in part cannot be granted as a whole.

// matchesVerb matches a verb of a Kubernetes rule, for resources of one stream.
func matchesVerb(r rule, deny bool, verb, stream string) bool {
	if r.kubernetes != nil {
		return hasOrStar(r.kubernetes.Verbs, verb)
	}
	if verb == "*" {
		return matchesAll(r.origin.Verbs, r.origin.NotVerbs, deny)
	}
	if stream != "*" {
		return access.MatchesVerb(r.origin, verb, stream)
	}
	// "*" includes the streaming subresources.
	matches := func(sub string) bool { return access.MatchesVerb(r.origin, verb, sub) }
	if deny {
		return matches("") || matches("exec") || matches("proxy")
	}
	return matches("") && matches("exec") && matches("proxy")
}

// matchesResource matches a resource of a Kubernetes rule, for verbs that stand for one
// subresource, for none, or for "*".
func matchesResource(r rule, deny bool, resource, verb string) bool {
	if r.kubernetes != nil {
		return slices.ContainsFunc(r.kubernetes.Resources, func(held string) bool {
			return access.CoversResource(held, resource)
		})
	}
	if resource == "*" {
		return matchesAll(r.origin.Kinds, r.origin.NotKinds, deny)
	}
	kind, sub, _ := strings.Cut(resource, "/")
	if kind == "*" {
		entry := []string{strings.ToLower(resource)}
		if deny {
			return access.TouchesKinds(r.origin, entry[0], nil)
		}
		return access.CoversKinds(r.origin, entry[0], nil)
	}
	if verb != "*" {
		return access.MatchesKind(r.origin, verb, kind, sub)
	}
	// "*" includes the verbs that stand for a subresource.
	matches := func(verb string) bool { return access.MatchesKind(r.origin, verb, kind, sub) }
	if deny {
		return matches("") || matches("exec") || matches("proxy")
	}
	return matches("") && matches("exec") && matches("proxy")
}

// matchesAll matches a request for "*".
func matchesAll(positive, negative []string, deny bool) bool {
	if deny {
		return len(positive) > 0 && !slices.Contains(negative, "*")
	}
	return slices.Contains(positive, "*") && len(negative) == 0
}

// missingOrigin checks an Origin rule. Its tuples are pairs of positive entries,
// restricted by the negations of the rule.
func (h ruleSet) missingOrigin(wanted *tables.OriginRule) []string {
	verbs := h.classes(access.EffectiveVerbs(wanted), func(r rule, deny bool, verb string) bool {
		switch {
		case r.kubernetes != nil:
			return kubernetesCoversVerb(r.kubernetes.Verbs, verb)
		case deny:
			return access.TouchesVerbs(r.origin, verb, wanted.NotVerbs)
		}
		return access.CoversVerbs(r.origin, verb, wanted.NotVerbs)
	})
	kinds := h.classes(access.EffectiveKinds(wanted), func(r rule, deny bool, kind string) bool {
		switch {
		case r.kubernetes != nil:
			return kubernetesCoversKind(r.kubernetes, kind)
		case deny:
			return access.TouchesKinds(r.origin, kind, wanted.NotKinds)
		}
		return access.CoversKinds(r.origin, kind, wanted.NotKinds)
	})
	return h.missing([][]class{verbs, kinds}, func(t []string) string { return t[0] + " " + t[1] })
}

// kubernetesCoversVerb reports whether Kubernetes verbs match every request that an
// Origin verb matches.
func kubernetesCoversVerb(held []string, verb string) bool {
	if slices.Contains(held, "*") {
		return true
	}
	needed := []string{verb}
	switch verb {
	case "*", "exec", "proxy", "impersonate":
		return false // they match requests with any verb
	case "update":
		needed = append(needed, "patch")
	case "delete":
		needed = append(needed, "deletecollection")
	}
	return !slices.ContainsFunc(needed, func(v string) bool { return !slices.Contains(held, v) })
}

// kubernetesCoversKind reports whether a Kubernetes rule matches every resource that an
// Origin kind covers: in every group, with all subresources.
func kubernetesCoversKind(held *tables.KubernetesRule, kind string) bool {
	if !slices.Contains(held.Groups, "*") || len(held.Names) > 0 {
		return false
	}
	_, sub, _ := strings.Cut(kind, "/")
	return slices.Contains(held.Resources, "*") || sub != "" && slices.Contains(held.Resources, "*/"+sub)
}
