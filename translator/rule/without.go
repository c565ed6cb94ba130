package rule

import (
	"reflect"
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

// dimension is a list of a rule, and which of its entries another rule covers.
type dimension struct {
	list   *[]string
	covers func(entry string) bool
}

// reduce removes the covered entries of a list if all entries of all other lists are
// covered. It returns false if nothing is left. An empty list places no condition.
func reduce(dimensions ...dimension) bool {
	open := -1
	for i, d := range dimensions {
		if slices.ContainsFunc(*d.list, func(v string) bool { return !d.covers(v) }) {
			if open >= 0 {
				return true
			}
			open = i
		}
	}
	if open < 0 {
		return false
	}
	d := dimensions[open]
	*d.list = slices.DeleteFunc(slices.Clone(*d.list), d.covers)
	return true
}

// anyOf returns which entries some entry of a list covers.
func anyOf(list []string, covers func(held, wanted string) bool) func(string) bool {
	return func(v string) bool {
		return slices.ContainsFunc(list, func(held string) bool { return covers(held, v) })
	}
}

// WithoutKubernetes returns a rule reduced by what another one covers: the rule itself if that
// covers nothing that lists can leave out, nil if it covers everything.
func WithoutKubernetes(k, o *tables.KubernetesRule) *tables.KubernetesRule {
	if len(k.Paths) > 0 != (len(o.Paths) > 0) || len(k.Names) == 0 && len(o.Names) > 0 {
		return k // names that o does not list cannot be enumerated
	}
	out, lists := *k, *k.KubernetesLists
	out.KubernetesLists = &lists
	verbs := dimension{&out.Verbs, anyOf(o.Verbs, coversWord)}
	var left bool
	if len(k.Paths) > 0 {
		left = reduce(verbs, dimension{&out.Paths, anyOf(o.Paths, CoversPath)})
	} else {
		names := dimension{&out.Names, func(v string) bool { return len(o.Names) == 0 || slices.Contains(o.Names, v) }}
		left = reduce(verbs, dimension{&out.Groups, anyOf(o.Groups, coversWord)}, dimension{&out.Resources, anyOf(o.Resources, CoversResource)}, names)
	}
	if !left {
		return nil
	}
	return &out
}

// WithoutOrigin is WithoutKubernetes for rules of Origin roles.
func WithoutOrigin(o, p *tables.OriginRule) *tables.OriginRule {
	if p.Deny != o.Deny || p.Restrictions != nil && !reflect.DeepEqual(p.Restrictions, o.Restrictions) ||
		!isSubset(p.NotVerbs, o.NotVerbs) || !isSubset(p.NotKinds, o.NotKinds) {
		return o
	}
	out := *o
	covers := func(v string) bool {
		kind, sub, slash := strings.Cut(v, "/")
		return HasOrStar(p.Kinds, v) || slash && (slices.Contains(p.Kinds, kind) || slices.Contains(p.Kinds, "*/"+sub))
	}
	if !reduce(dimension{&out.Verbs, anyOf(p.Verbs, coversWord)}, dimension{&out.Kinds, covers}) {
		return nil
	}
	return &out
}

func isSubset(list, of []string) bool {
	return !slices.ContainsFunc(list, func(v string) bool { return !slices.Contains(of, v) })
}

// WithoutDeny is WithoutKubernetes for rules of deny policies in one scope.
func WithoutDeny(d, o *tables.DenyRule) *tables.DenyRule {
	if !reflect.DeepEqual(d.Namespaces, o.Namespaces) || !reflect.DeepEqual(d.Names, o.Names) || len(d.Actions) != 1 || len(o.Actions) != 1 ||
		len(d.Resources) != 1 || len(o.Resources) != 1 || !reflect.DeepEqual(d.Resources[0].Subresources, o.Resources[0].Subresources) ||
		d.Resources[0].NeedsSubresource != o.Resources[0].NeedsSubresource {
		return d
	}
	verbs, groups, resources := AnyWord(d.Actions[0].Verbs), AnyWord(d.Actions[0].Groups), AnyWord(d.Resources[0].Resources)
	in := func(list []string) func(string) bool { return anyOf(AnyWord(list), coversWord) }
	if !reduce(dimension{&verbs, in(o.Actions[0].Verbs)}, dimension{&groups, in(o.Actions[0].Groups)},
		dimension{&resources, in(o.Resources[0].Resources)}) {
		return nil
	}
	out := *d
	out.Actions = []tables.DenyAction{{Verbs: wordsOf(verbs), Groups: wordsOf(groups)}}
	out.Resources = slices.Clone(d.Resources)
	out.Resources[0].Resources = wordsOf(resources)
	return &out
}

// AnyWord returns the words of a table of deny rules as documents write them: "*" for all.
func AnyWord(list []string) []string {
	if list == nil {
		return []string{"*"}
	}
	return list
}

// wordsOf is the inverse of AnyWord.
func wordsOf(list []string) []string {
	if slices.Contains(list, "*") {
		return nil
	}
	return list
}
