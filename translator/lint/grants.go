package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/document"
	"github.com/writ-policy/writ/translator/lower"
)

// rbacGroup is the API group of Kubernetes' roles and bindings.
const rbacGroup = "rbac.authorization.k8s.io"

var (
	roleResources    = []string{"roles", "clusterroles"}
	bindingResources = []string{"rolebindings", "clusterrolebindings"}
)

// powers are the verbs by which a grant reaches beyond itself, with what they
// have to be granted on for that. A verb that is named is taken at its word; by
// "*" it comes along only where it means something.
var powers = []struct {
	verb      string
	groups    []string
	resources []string
}{
	{"escalate", []string{rbacGroup}, roleResources},
	{"bind", []string{rbacGroup}, roleResources},
	{"impersonate", []string{"", "authentication.k8s.io"}, []string{"users", "groups", "serviceaccounts", "uids", "userextras"}},
	{"create", []string{rbacGroup}, slices.Concat(roleResources, bindingResources)},
	{"update", []string{rbacGroup}, slices.Concat(roleResources, bindingResources)},
	{"patch", []string{rbacGroup}, slices.Concat(roleResources, bindingResources)},
}

// beyond are the verbs that are a power whatever they are granted on.
var beyond = []string{"escalate", "bind", "impersonate"}

func kubernetesGrants(d *document.KubernetesRole, access *lower.Access) diag.List {
	role := access.Roles[lower.RoleKey(d.Family, d.Namespace, d.Name)]
	if slices.ContainsFunc(role.Kubernetes, everythingKubernetes) {
		return nil
	}
	var list diag.List
	for i := range role.Kubernetes {
		if found := kubernetesPowers(&role.Kubernetes[i]); len(found) > 0 {
			list.Add(escalationGrant(&d.Header, i, d.Rules[i].At, found))
		}
	}
	return list
}

func originGrants(d *document.OriginRole, access *lower.Access) diag.List {
	role := access.Roles[lower.RoleKey(d.Family, d.Namespace, d.Name)]
	if slices.ContainsFunc(role.Origin, everythingOrigin) {
		return nil
	}
	var list diag.List
	for i := range role.Origin {
		if found := originPowers(&role.Origin[i]); len(found) > 0 {
			list.Add(escalationGrant(&d.Header, i, d.Rules[i].At, found))
		}
	}
	return list
}

func escalationGrant(h *document.Header, rule int, at diag.Position, found []string) diag.Diagnostic {
	return diag.Diagnostic{
		Position: at,
		Severity: diag.Warning,
		Code:     diag.EscalationGrant,
		Message: fmt.Sprintf("rule %d of %s %q lets its holders reach beyond it: %s",
			rule, h.Kind, h.Name, strings.Join(found, ", ")),
		Hint: "name the verbs and resources that are needed, or keep the role to those who may do everything",
	}
}

func everythingKubernetes(r lower.KubernetesRule) bool {
	return slices.Contains(r.Verbs, "*") && slices.Contains(r.Groups, "*") &&
		slices.Contains(r.Resources, "*") && len(r.Names) == 0
}

func everythingOrigin(r lower.OriginRule) bool {
	return !r.Deny && r.Restrictions == nil && len(r.NotVerbs) == 0 && len(r.NotKinds) == 0 &&
		slices.Contains(r.Verbs, "*") && slices.Contains(r.Kinds, "*")
}

// kubernetesPowers lists what a rule grants of the powers, as "verb resource".
func kubernetesPowers(r *lower.KubernetesRule) []string {
	var found []string
	for _, p := range powers {
		named := slices.Contains(r.Verbs, p.verb)
		if !named && !slices.Contains(r.Verbs, "*") {
			continue
		}
		group := slices.Contains(r.Groups, "*") || slices.ContainsFunc(p.groups, func(g string) bool {
			return slices.Contains(r.Groups, g)
		})
		where := slices.DeleteFunc(slices.Clone(p.resources), func(resource string) bool {
			return !group || !touches(r.Resources, resource)
		})
		found = appendPower(found, p.verb, where, named && slices.Contains(beyond, p.verb))
	}
	return found
}

// touches reports whether a list of resources holds one, or a subresource of it
// as userextras has them.
func touches(resources []string, resource string) bool {
	return slices.ContainsFunc(resources, func(held string) bool {
		return lower.CoversResource(held, resource) || strings.HasPrefix(held, resource+"/") && resource == "userextras"
	})
}

func originPowers(r *lower.OriginRule) []string {
	if r.Deny {
		return nil
	}
	var found []string
	for _, p := range powers {
		if !lower.MatchesVerb(r, p.verb, "") {
			continue
		}
		where := slices.DeleteFunc(slices.Clone(p.resources), func(resource string) bool {
			return !lower.MatchesKind(r, p.verb, resource, "")
		})
		named := slices.Contains(r.Verbs, p.verb) && len(r.Kinds) > 0 && !slices.Contains(r.NotKinds, "*")
		found = appendPower(found, p.verb, where, named && slices.Contains(beyond, p.verb))
	}
	return found
}

func appendPower(found []string, verb string, where []string, anyway bool) []string {
	switch {
	case len(where) > 0:
		return append(found, verb+" "+strings.Join(where, "|"))
	case anyway:
		return append(found, verb)
	}
	return found
}
