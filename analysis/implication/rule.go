package implication

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/tables"
)

// Rule is a rule of either family; exactly one is set.
type Rule struct {
	Kubernetes *tables.KubernetesRule
	Origin     *tables.OriginRule
}

// A grant matches an entry if it covers all of it. A denial matches if it covers a part
// of it: a permission that is denied in part cannot be granted as a whole.

// MatchesVerb matches a verb of a Kubernetes rule, for resources with the subresource
// stream, or with any if stream is "*".
func (r Rule) MatchesVerb(deny bool, verb, stream string) bool {
	if r.Kubernetes != nil {
		return HasOrStar(r.Kubernetes.Verbs, verb)
	}
	if verb == "*" {
		return matchesAll(r.Origin.Verbs, r.Origin.NotVerbs, deny)
	}
	if stream != "*" {
		return MatchesVerb(r.Origin, verb, stream)
	}
	// "*" includes the streaming subresources.
	matches := func(sub string) bool { return MatchesVerb(r.Origin, verb, sub) }
	if deny {
		return matches("") || matches("exec") || matches("proxy")
	}
	return matches("") && matches("exec") && matches("proxy")
}

// MatchesResource matches a resource of a Kubernetes rule, for verbs that stand for one
// subresource, for none, or for "*".
func (r Rule) MatchesResource(deny bool, resource, verb string) bool {
	if r.Kubernetes != nil {
		return slices.ContainsFunc(r.Kubernetes.Resources, func(held string) bool {
			return CoversResource(held, resource)
		})
	}
	if resource == "*" {
		return matchesAll(r.Origin.Kinds, r.Origin.NotKinds, deny)
	}
	kind, sub, _ := strings.Cut(resource, "/")
	if kind == "*" {
		return r.MatchesOriginKind(deny, strings.ToLower(resource), nil)
	}
	if verb != "*" {
		return MatchesKind(r.Origin, verb, kind, sub)
	}
	// "*" includes the verbs that stand for a subresource.
	matches := func(verb string) bool { return MatchesKind(r.Origin, verb, kind, sub) }
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

// MatchesOriginVerb matches a verb entry of an Origin rule, except what the negative
// entries in less exclude.
func (r Rule) MatchesOriginVerb(deny bool, verb string, less []string) bool {
	switch {
	case r.Kubernetes != nil:
		return kubernetesCoversVerb(r.Kubernetes.Verbs, verb)
	case deny:
		return touches(r.Origin.Verbs, r.Origin.NotVerbs, verb, less, coversVerb, disjointVerbs)
	}
	return covers(r.Origin.Verbs, r.Origin.NotVerbs, verb, less, coversVerb, disjointVerbs)
}

// MatchesOriginKind is MatchesOriginVerb for kinds.
func (r Rule) MatchesOriginKind(deny bool, kind string, less []string) bool {
	switch {
	case r.Kubernetes != nil:
		return kubernetesCoversKind(r.Kubernetes, kind)
	case deny:
		return touches(r.Origin.Kinds, r.Origin.NotKinds, kind, less, coversKind, disjointKinds)
	}
	return covers(r.Origin.Kinds, r.Origin.NotKinds, kind, less, coversKind, disjointKinds)
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
