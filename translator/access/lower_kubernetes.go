package access

import (
	"reflect"

	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/tables"
)

const kindClusterRoleBinding = "ClusterRoleBinding"

func (l *lowerer) kubernetes(c *change, r *Resolved) {
	removed, added := directory.Changes(l.seen.KubernetesRoles, r.KubernetesRoles, sameKubernetesRole)
	for _, role := range removed {
		c.removeRole(role.Meta())
		delete(l.warnings, role.Document)
	}
	for _, role := range added {
		l.kubernetesRole(c, role)
	}
	unbound, bound := directory.Changes(l.seen.KubernetesBindings, r.KubernetesBindings,
		func(a, b ResolvedKubernetesBinding) bool { return a.Document == b.Document && sameKey(a.Role, b.Role) })
	for _, binding := range unbound {
		d := binding.Document
		c.unbind(&d.Header, d.Kind == kindClusterRoleBinding, d.Users, d.Groups)
	}
	for _, binding := range bound {
		d := binding.Document
		c.bind(tables.Binding{
			Family:     tables.FamilyKubernetes,
			APIVersion: d.APIVersion,
			Kind:       d.Kind,
			Namespace:  d.Namespace,
			Name:       d.Name,
			Role:       roleKey(binding.Role.Meta()),
			Cluster:    d.Kind == kindClusterRoleBinding,
			Source:     d.At.Source(),
		}, d.Users, d.Groups)
	}
}

// sameKubernetesRole reports whether two resolved roles are equal. Only the rules of an
// aggregated role can differ for the same document.
func sameKubernetesRole(a, b ResolvedKubernetesRole) bool {
	return a.Document == b.Document && (!a.Document.Aggregated || reflect.DeepEqual(a.Rules, b.Rules))
}

func (l *lowerer) kubernetesRole(c *change, role ResolvedKubernetesRole) {
	d := role.Document
	rules := make([]tables.KubernetesRule, 0, len(role.Rules))
	for i := range role.Rules {
		rules = append(rules, kubernetesRule(i, &role.Rules[i]))
	}
	c.addRole(tables.Role{
		Family:     tables.FamilyKubernetes,
		Kind:       d.Kind,
		Namespace:  d.Namespace,
		Name:       d.Name,
		Kubernetes: rules,
		Source:     d.At.Source(),
	})
	if !d.Aggregated {
		l.warn(d, superfluousKubernetes(d, rules))
	}
}

// kubernetesRule lowers a rule. Entries stay in the order of the document, so that
// readers of the table recognise them.
func kubernetesRule(index int, rule *KubernetesRule) tables.KubernetesRule {
	return tables.KubernetesRule{
		Rule:      index,
		Source:    rule.At.Source(),
		Verbs:     rule.Verbs,
		Groups:    rule.APIGroups,
		Resources: rule.Resources,
		Names:     rule.ResourceNames,
		Paths:     rule.NonResourceURLs,
	}
}
