package statement

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/rule"
	"github.com/writ-policy/writ/translator/tables"
)

// maxParts bounds the parts of a rule.
const maxParts = 1000

// Parts returns the parts of a rule for which touched is false. A part has one group, one
// resource and one name, or one path, and all verbs that are left there.
func (k *KubernetesRule) Parts(touched func(*KubernetesRule) bool) []*KubernetesRule {
	alone := func(list []string) [][]string {
		if len(list) == 0 {
			return [][]string{nil}
		}
		return elements.Map(list, func(value string) []string { return []string{value} })
	}
	var out []*KubernetesRule
	count := 0
	for _, path := range alone(k.Paths) {
		for _, group := range alone(k.Groups) {
			for _, resource := range alone(k.Resources) {
				for _, name := range alone(k.Names) {
					part := KubernetesRule{KubernetesLists: &tables.KubernetesLists{Groups: group, Resources: resource, Names: name, Paths: path}}
					var verbs []string
					for _, verb := range k.Verbs {
						if count++; count > maxParts {
							return nil
						}
						if part.Verbs = []string{verb}; !touched(&part) {
							verbs = append(verbs, verb)
						}
					}
					if part.Verbs = verbs; len(verbs) > 0 {
						out = append(out, &part)
					}
				}
			}
		}
	}
	return out
}

// KubernetesRules returns an allow rule as rules of Kubernetes, which may match more, and
// whether they match everything that it matches.
func (s *Statement) KubernetesRules() (rules []*KubernetesRule, isWhole bool) {
	switch c := s.Rule().(type) {
	case *KubernetesRule:
		return []*KubernetesRule{c}, s.Opaque == ""
	case *OriginRule:
		return c.kubernetesRules()
	}
	return nil, false
}

// subresourcesOf are the subresources of a Kind that Kubernetes has. Kinds of an Origin
// rule contain them.
var subresourcesOf = map[string][]string{
	"pods":     {"attach", "binding", "ephemeralcontainers", "eviction", "exec", "log", "portforward", "proxy", "resize", "status"},
	"services": {"proxy", "status"}, "nodes": {"proxy", "status"}, "namespaces": {"finalize", "status"},
	"configmaps": {}, "secrets": {}, "endpoints": {}, "events": {},
	"deployments": {"scale", "status"}, "replicasets": {"scale", "status"}, "statefulsets": {"scale", "status"},
	"replicationcontrollers": {"scale", "status"}, "daemonsets": {"status"}, "jobs": {"status"}, "cronjobs": {"status"},
	"serviceaccounts": {"token"}, "persistentvolumes": {"status"}, "persistentvolumeclaims": {"status"}, "resourcequotas": {"status"},
}

// kubernetesRules returns the rule without what a list cannot express: restrictions, and
// everything but some verbs or kinds.
func (o *OriginRule) kubernetesRules() (rules []*KubernetesRule, isWhole bool) {
	verbs, resources := remaining(o.Verbs, o.NotVerbs), remaining(o.Kinds, o.NotKinds)
	if o.Restrictions != nil || verbs == nil || resources == nil {
		return nil, false
	}
	isWhole = true
	for _, entry := range resources {
		kind, sub, hasSub := strings.Cut(entry, "/")
		if kind != "*" && !strings.HasSuffix(kind, "s") {
			kind = tables.Plural(kind)
		}
		subs, isKnown := subresourcesOf[kind]
		list := []string{kind}
		switch {
		case hasSub:
			list = []string{kind + "/" + sub}
		case kind != "*":
			isWhole = isWhole && isKnown
			for _, sub := range subs {
				list = append(list, kind+"/"+sub)
			}
		}
		for _, resource := range list {
			covered := o.kubernetesVerbs(verbs, resource)
			same := slices.IndexFunc(rules, func(r *KubernetesRule) bool { return slices.Equal(r.Verbs, covered) })
			switch {
			case len(covered) == 0:
			case same >= 0:
				rules[same].Resources = append(rules[same].Resources, resource)
			default:
				rules = append(rules, &KubernetesRule{KubernetesLists: &tables.KubernetesLists{Verbs: covered, Groups: []string{"*"}, Resources: []string{resource}}})
			}
		}
	}
	return rules, isWhole
}

// remaining returns what is left of a list after negation, nil if that is not a list.
func remaining(list, not []string) []string {
	if slices.Contains(list, "*") && len(not) > 0 {
		return nil
	}
	if slices.Contains(list, "*") {
		return []string{"*"}
	}
	return slices.DeleteFunc(slices.Clone(list), func(v string) bool { return slices.Contains(not, v) })
}

// kubernetesVerbs returns the verbs of Kubernetes that verbs of Origin carry on a resource.
func (o *OriginRule) kubernetesVerbs(verbs []string, resource string) []string {
	_, sub, _ := strings.Cut(resource, "/")
	var out []string
	for _, verb := range verbs {
		candidates := []string{verb}
		switch {
		case rule.Carried("", sub)[0] != "":
			candidates = []string{"get", "create"}
		case rule.IsStream(verb):
			candidates = nil
		default:
			candidates = append(candidates, rule.Narrower(verb)...)
		}
		if verb == "*" {
			candidates = []string{"*"}
		}
		for _, v := range candidates {
			if rule.MatchesVerb(o.row(), v, sub) && !slices.Contains(out, v) {
				out = append(out, v)
			}
		}
	}
	return out
}
