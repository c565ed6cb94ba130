package rule

import (
	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/tables"
)

// The verbs by which API servers ask about impersonation: the legacy one, and the beginnings of
// those that state a mode.
const (
	Impersonate    = "impersonate"
	IdentityPrefix = "impersonate:"
	ActionPrefix   = "impersonate-on:"
)

// few is how many lists a rule of a role has at most.
const few = 4

// Lists is room for the lists of a rule of a role.
type Lists [few]List

// Kubernetes returns the lists of a rule of a Kubernetes role, in room.
func Kubernetes(r *tables.KubernetesRule, room *Lists) Alternative {
	return fill(r, kubernetesList, room)
}

// MatchKubernetes reports whether a rule of a Kubernetes role matches a request, all of whose
// attributes are known.
func MatchKubernetes(r *tables.KubernetesRule, w *Words) bool {
	for i := 0; ; i++ {
		if l, ok := kubernetesList(r, i); !ok || l.match(w, nil) == No {
			return !ok
		}
	}
}

// kubernetesList returns one list of a rule. It returns false after the last one.
func kubernetesList(r *tables.KubernetesRule, i int) (l List, ok bool) {
	switch {
	case i == 0:
		return List{Of: Verb, Star: true, Any: r.Verbs}, true
	case len(r.Paths) > 0:
		return List{Of: Path, Any: r.Paths}, i == 1
	case i == 1:
		return List{Of: Target, Star: true, Any: r.Resources}, true
	case i == 2:
		return List{Of: Group, Star: true, Any: elements.NotNil(r.Groups)}, true // a rule without entries matches nothing
	}
	return List{Of: Name, Any: r.Names}, i == 3 && len(r.Names) > 0 // without any they match every name, and none
}

func fill[R any](r *R, list func(*R, int) (List, bool), room *Lists) Alternative {
	for i := range room {
		l, ok := list(r, i)
		if !ok {
			return room[:i]
		}
		room[i] = l
	}
	return room[:]
}

// Origin returns the lists of a rule of an Origin role, in room. Its restrictions are not lists.
func Origin(r *tables.OriginRule, room *Lists) Alternative { return fill(r, originList, room) }

// MatchOrigin reports whether a rule of an Origin role matches a request, all of whose
// attributes are known. Restrictions are left aside.
func MatchOrigin(r *tables.OriginRule, w *Words) bool {
	for i := 0; ; i++ {
		if l, ok := originList(r, i); !ok || l.match(w, nil) == No {
			return !ok
		}
	}
}

// originList returns a list of a rule by its place, false beyond the last one.
func originList(r *tables.OriginRule, i int) (l List, ok bool) {
	if i == 0 {
		return List{Of: Verb, Star: true, Touches: r.Deny, Any: r.Verbs, Not: r.NotVerbs}, true
	}
	return List{Of: Target, Star: true, Touches: r.Deny, Any: r.Kinds, Not: r.NotKinds}, i == 1
}

// Deny returns a rule of a deny policy: an alternative for each of its actions.
func Deny(r *tables.DenyRule) Rule {
	var out Rule
	for i := range r.Actions {
		a := &r.Actions[i]
		verb := List{Of: Verb, Any: a.Verbs}
		if a.VerbPrefix != "" {
			verb.Denied = &Denied{Prefixes: []string{a.VerbPrefix}}
		}
		out = append(out, Alternative{verb, onResources, {Of: Target, Denied: &Denied{Targets: r.Resources}}, {Of: Group, Any: a.Groups},
			{Of: Name, Denied: &Denied{Globs: r.Names, Some: r.NeedsName}}, {Of: Namespace, Denied: &Denied{Filter: r.Namespaces}}})
	}
	return out
}

// onResources matches requests that have no path.
var onResources = List{Of: Path, Denied: &Denied{}}

// Impersonation returns an entry of impersonationRules: one alternative for identities and one
// for actions, or one for each kind of verb.
func Impersonation(r *tables.ImpersonationRule) Rule {
	if r.Identity == nil && r.Action == nil {
		return Rule{{{Of: Verb, Any: []string{Impersonate}}}, {{Of: Verb, Denied: &Denied{Prefixes: []string{IdentityPrefix, ActionPrefix}}}}}
	}
	var out Rule
	if i := r.Identity; i != nil {
		target := &Denied{Keys: i.ExtraKeys}
		if len(i.Resources) > 0 {
			target.Targets = []tables.DenyResource{{Resources: i.Resources}}
		}
		out = append(out, Alternative{{Of: Verb, Any: i.Verbs}, {Of: Target, Denied: target},
			{Of: Name, Denied: &Denied{Globs: i.Names}}, {Of: Namespace, Denied: &Denied{Filter: i.Namespaces}}})
	}
	if a := r.Action; a != nil {
		target := &Denied{}
		if len(a.Resources) > 0 {
			target.Targets = a.Resources
		}
		out = append(out, Alternative{actionVerbs(a), {Of: Target, Denied: target}, {Of: Group, Any: a.Groups}})
	}
	return out
}

// actionVerbs is the list of the verbs of actions: words, or what has a mode and any verb.
func actionVerbs(a *tables.ImpersonatedAction) List {
	l := List{Of: Verb}
	if a.Verbs == nil {
		l.Denied = &Denied{Plain: true}
	} else {
		l.Any = []string{}
	}
	for _, mode := range a.Modes {
		prefix := ActionPrefix + mode + ":"
		if a.Verbs == nil {
			l.Denied.Prefixes = append(l.Denied.Prefixes, prefix)
		}
		for _, verb := range a.Verbs {
			l.Any = append(l.Any, prefix+verb)
		}
	}
	return l
}

// Pod returns which requests the pod security of a policy is about.
func Pod(p *tables.PodSecurity) Rule {
	return Rule{{onResources, {Of: Target, Denied: &Denied{Targets: PodTargets(p)}}, {Of: Group, Any: []string{""}}}}
}

// PodTargets returns the subresources of pods that pod security is about.
func PodTargets(p *tables.PodSecurity) []tables.DenyResource {
	return []tables.DenyResource{{Resources: []string{"pods"}, Subresources: p.Subresources}}
}

// Scope returns where a deny policy applies. An escalation that refers to the policy stands for
// its sessions and escalations.
func Scope(p *tables.DenyPolicy) Rule {
	var own, always Alternative
	for i, globs := range p.Scope() {
		l := List{Of: inScope(i), Denied: &Denied{Globs: *globs}}
		if own = append(own, l); !tables.ScopeAttributes[i].IsReferred {
			always = append(always, l)
		}
	}
	if len(p.ReferredBy) == 0 {
		return Rule{own}
	}
	return Rule{own, append(always, List{Of: escalation, Any: p.ReferredBy})}
}

// InNamespaces returns which requests a filter matches.
func InNamespaces(f *tables.NamespaceFilter) Alternative {
	return Alternative{{Of: Namespace, Denied: &Denied{Filter: f}}}
}
