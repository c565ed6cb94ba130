package lower

import (
	"github.com/writ-policy/writ/translator/document"
	"github.com/writ-policy/writ/translator/resolve"
)

func (l *lowerer) kubernetes(r *resolve.Resolved) {
	for _, role := range r.KubernetesRoles {
		d := role.Document
		rules := make([]KubernetesRule, 0, len(role.Rules))
		for i := range role.Rules {
			rules = append(rules, kubernetesRule(i, &role.Rules[i]))
		}
		l.access.Roles[roleKey(&d.Header)] = Role{
			Family:     FamilyKubernetes,
			Kind:       d.Kind,
			Namespace:  d.Namespace,
			Name:       d.Name,
			Kubernetes: rules,
			Source:     source(d.At),
		}
		if !d.Aggregated {
			l.superfluousKubernetes(d, rules)
		}
	}
	for _, binding := range r.KubernetesBindings {
		d := binding.Document
		l.bind(Binding{
			Family:     FamilyKubernetes,
			APIVersion: d.APIVersion,
			Kind:       d.Kind,
			Namespace:  d.Namespace,
			Name:       d.Name,
			Role:       roleKey(&binding.Role.Header),
			Cluster:    d.Kind == "ClusterRoleBinding",
			Source:     source(d.At),
		}, d.Users, d.Groups)
	}
}

// kubernetesRule keeps the entries as written: their order means nothing, and
// what a document says is easier to find again.
func kubernetesRule(index int, rule *document.KubernetesRule) KubernetesRule {
	return KubernetesRule{
		Rule:      index,
		Source:    source(rule.At),
		Verbs:     rule.Verbs,
		Groups:    rule.APIGroups,
		Resources: rule.Resources,
		Names:     rule.ResourceNames,
		Paths:     rule.NonResourceURLs,
	}
}
