package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/access"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/rule"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// rbacGroup is the API group of Kubernetes' roles and bindings.
const rbacGroup = "rbac.authorization.k8s.io"

var (
	roleResources    = []string{"roles", "clusterroles"}
	bindingResources = []string{"rolebindings", "clusterrolebindings"}
)

// powers are the verbs by which subjects can grant themselves more, with the
// resources for which that is so.
var powers = []struct {
	verbs     []string
	groups    []string
	resources []string
	// named is true if the verb counts for any resource when a rule names it. If the
	// rule has "*", it counts only for the resources above.
	named bool
}{
	{[]string{"escalate", "bind"}, []string{rbacGroup}, roleResources, true},
	{[]string{"impersonate"}, []string{"", "authentication.k8s.io"}, []string{"users", "groups", "serviceaccounts", "uids", "userextras"}, true},
	{[]string{"create", "update", "patch"}, []string{rbacGroup}, slices.Concat(roleResources, bindingResources), false},
}

// kubernetesGrants is grants for a Kubernetes role.
func kubernetesGrants(d *access.KubernetesRole, access *tables.Access) diag.List {
	rules := access.Roles.At(tables.RoleKey(d.Family, d.Namespace, d.Name)).Kubernetes
	return grants(&d.Header, rules, grantsEverythingKubernetes, kubernetesPowers, func(rule int) diag.Position { return d.Rules[rule].At })
}

// originGrants is grants for an Origin role.
func originGrants(d *access.OriginRole, access *tables.Access) diag.List {
	rules := access.Roles.At(tables.RoleKey(d.Family, d.Namespace, d.Name)).Origin
	return grants(&d.Header, rules, grantsEverythingOrigin, originPowers, func(rule int) diag.Position { return d.Rules[rule].At })
}

// grants reports the rules of a role that allow their holder to gain more permissions. A
// role that grants everything is reported elsewhere.
func grants[R any](
	h *syntax.Header, rules []R, everything func(R) bool, powers func(*R) []string, at func(rule int) diag.Position,
) (list diag.List) {
	if slices.ContainsFunc(rules, everything) {
		return nil
	}
	for i := range rules {
		if found := powers(&rules[i]); len(found) > 0 {
			list.Add(escalationGrant(h, i, at(i), found))
		}
	}
	return list
}

func escalationGrant(h *syntax.Header, rule int, at diag.Position, found []string) diag.Diagnostic {
	return diag.Diagnostic{
		Position: at,
		Severity: diag.Warning,
		Code:     diag.EscalationGrant,
		Message: fmt.Sprintf("rule %d of %s %q allows subjects to grant themselves more: %s",
			rule, h.Kind, h.Name, strings.Join(found, "; ")),
		Hint: "list only the verbs and resources that are needed, or bind the role only to administrators",
	}
}

func grantsEverythingKubernetes(r tables.KubernetesRule) bool {
	return slices.Contains(r.Verbs, "*") && slices.Contains(r.Groups, "*") &&
		slices.Contains(r.Resources, "*") && len(r.Names) == 0
}

func grantsEverythingOrigin(r tables.OriginRule) bool {
	return !r.Deny && r.Restrictions == nil && len(r.NotVerbs) == 0 && len(r.NotKinds) == 0 &&
		slices.Contains(r.Verbs, "*") && slices.Contains(r.Kinds, "*")
}

// kubernetesPowers lists the powers that a rule grants.
func kubernetesPowers(r *tables.KubernetesRule) []string {
	var found []string
	for _, p := range powers {
		group := slices.Contains(r.Groups, "*") || slices.ContainsFunc(p.groups, func(g string) bool {
			return slices.Contains(r.Groups, g)
		})
		where := func(string) []string {
			return slices.DeleteFunc(slices.Clone(p.resources), func(resource string) bool {
				return !group || !touches(r.Resources, resource)
			})
		}
		matches := func(verb string) bool { return rule.HasOrStar(r.Verbs, verb) }
		named := func(verb string) bool { return p.named && slices.Contains(r.Verbs, verb) }
		found = append(found, describe(p.verbs, matches, named, where)...)
	}
	return found
}

// touches reports whether a list of resources covers one, or a subresource of
// userextras.
func touches(resources []string, resource string) bool {
	return slices.ContainsFunc(resources, func(held string) bool {
		return rule.CoversResource(held, resource) || strings.HasPrefix(held, resource+"/") && resource == "userextras"
	})
}

func originPowers(r *tables.OriginRule) []string {
	if r.Deny {
		return nil
	}
	var found []string
	for _, p := range powers {
		where := func(verb string) []string {
			return slices.DeleteFunc(slices.Clone(p.resources), func(resource string) bool {
				return !rule.MatchesKind(r, verb, resource, "")
			})
		}
		matches := func(verb string) bool { return rule.MatchesVerb(r, verb, "") }
		named := func(verb string) bool {
			return p.named && slices.Contains(r.Verbs, verb) && len(rule.EffectiveKinds(r)) > 0
		}
		found = append(found, describe(p.verbs, matches, named, where)...)
	}
	return found
}

// describe formats the verbs that match and their resources, such as "create, update
// on roles, clusterroles". The verbs of one power have the same resources.
func describe(verbs []string, matches, named func(verb string) bool, where func(verb string) []string) []string {
	var granted []string
	var resources []string
	for _, verb := range verbs {
		if !matches(verb) {
			continue
		}
		on := where(verb)
		if len(on) == 0 && !named(verb) {
			continue
		}
		granted, resources = append(granted, verb), on
	}
	switch {
	case len(granted) == 0:
		return nil
	case len(resources) == 0:
		return []string{strings.Join(granted, ", ")}
	}
	return []string{strings.Join(granted, ", ") + " on " + strings.Join(resources, ", ")}
}
