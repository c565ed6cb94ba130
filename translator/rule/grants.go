package rule

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/tables"
)

// Row is a rule of a role of either family; exactly one is set.
type Row struct {
	Kubernetes *tables.KubernetesRule
	Origin     *tables.OriginRule
}

// A grant matches an entry if it covers all of it. A denial matches if it covers a part
// of it: a permission that is denied in part cannot be granted as a whole.

// MatchesVerb matches a verb of a Kubernetes rule, for resources with the subresource
// stream, or with any if stream is "*".
func (r Row) MatchesVerb(deny bool, verb, stream string) bool {
	if r.Kubernetes != nil {
		return HasOrStar(r.Kubernetes.Verbs, verb)
	}
	l := List{Touches: deny, Any: r.Origin.Verbs, Not: r.Origin.NotVerbs}
	if verb == "*" {
		return l.covers(&words{whole: true})
	}
	if stream != "*" {
		return MatchesVerb(r.Origin, verb, stream)
	}
	// "*" includes the streaming subresources.
	return inStreams(deny, func(sub string) bool { return MatchesVerb(r.Origin, verb, sub) })
}

// inStreams reports whether a grant matches whether or not a request is for a stream, or a
// denial in one of these cases.
func inStreams(deny bool, matches func(stream string) bool) bool {
	isOther := func(stream string) bool { return matches(stream) == deny }
	return deny == slices.ContainsFunc(append([]string{""}, Streams...), isOther)
}

// MatchesResource matches a resource of a Kubernetes rule, for verbs that stand for one
// subresource, for none, or for "*".
func (r Row) MatchesResource(deny bool, resource, verb string) bool {
	if r.Kubernetes != nil {
		return slices.ContainsFunc(r.Kubernetes.Resources, func(held string) bool {
			return CoversResource(held, resource)
		})
	}
	if resource == "*" {
		return (&List{Touches: deny, Any: r.Origin.Kinds, Not: r.Origin.NotKinds}).covers(&words{whole: true})
	}
	kind, sub, _ := strings.Cut(resource, "/")
	if kind == "*" {
		return r.MatchesOriginKind(deny, strings.ToLower(resource), nil)
	}
	if verb != "*" {
		return MatchesKind(r.Origin, verb, kind, sub)
	}
	// "*" includes the verbs that stand for a subresource.
	return inStreams(deny, func(verb string) bool { return MatchesKind(r.Origin, verb, kind, sub) })
}

// MatchesOriginVerb matches a verb entry of an Origin rule, except what the negative
// entries in less exclude.
func (r Row) MatchesOriginVerb(deny bool, verb string, less []string) bool {
	switch {
	case r.Kubernetes != nil:
		return kubernetesCoversVerb(r.Kubernetes.Verbs, verb)
	case deny:
		return touches(r.Origin.Verbs, r.Origin.NotVerbs, verb, less, coversVerb, disjointVerbs)
	}
	return covers(r.Origin.Verbs, r.Origin.NotVerbs, verb, less, coversVerb, disjointVerbs)
}

// MatchesOriginKind is MatchesOriginVerb for kinds.
func (r Row) MatchesOriginKind(deny bool, kind string, less []string) bool {
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
	if verb == "*" || verb == Impersonate || IsStream(verb) {
		return false // they match requests with any verb
	}
	needed := append([]string{verb}, Narrower(verb)...)
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
