package oracle

import (
	"maps"
	"slices"
)

const kubernetesGroup = "rbac.authorization.k8s.io"

func (g *generator) kubernetesDocuments() []object {
	var documents []object
	for _, role := range g.world.KubernetesRoles {
		documents = append(documents, g.kubernetesRole(role))
	}
	for _, b := range g.world.KubernetesBindings {
		documents = append(documents, g.kubernetesBindingBody(b))
	}
	return documents
}

func kubernetesHeader(kind, namespace, name string, labels map[string]string) object {
	metadata := object{{"name", name}}
	if namespace != "" {
		metadata = append(metadata, member{"namespace", namespace})
	}
	if labels != nil {
		written := object{}
		for _, key := range slices.Sorted(maps.Keys(labels)) {
			written = append(written, member{key, labels[key]})
		}
		metadata = append(metadata, member{"labels", written})
	}
	return object{{"apiVersion", KubernetesVersion}, {"kind", kind}, {"metadata", metadata}}
}

func (g *generator) kubernetesRole(role *KubernetesRole) object {
	kind := "ClusterRole"
	if role.Namespace != "" {
		kind = "Role"
	}
	document := kubernetesHeader(kind, role.Namespace, role.Name, role.Labels)
	if role.Selectors != nil {
		selectors := list{}
		for _, s := range role.Selectors {
			selectors = append(selectors, g.selector(s))
		}
		document = append(document, member{"aggregationRule", object{{"clusterRoleSelectors", selectors}}})
	}
	rules := list{}
	for _, rule := range role.Rules {
		var body object
		for _, part := range []struct {
			key    string
			values []string
		}{
			{"verbs", rule.Verbs}, {"apiGroups", rule.APIGroups}, {"resources", rule.Resources},
			{"resourceNames", rule.ResourceNames}, {"nonResourceURLs", rule.NonResourceURLs},
		} {
			if part.values != nil {
				body = append(body, member{part.key, texts(part.values)})
			}
		}
		rules = append(rules, marked{body, &rule.Source})
	}
	return append(document, member{"rules", rules})
}

// selector writes requirements of one value as matchLabels where it may.
func (g *generator) selector(s Selector) object {
	var labels object
	expressions := list{}
	for _, q := range s {
		if q.Operator == "In" && len(q.Values) == 1 && !slices.ContainsFunc(labels, func(m member) bool { return m.key == q.Key }) {
			labels = append(labels, member{q.Key, q.Values[0]})
			continue
		}
		body := object{{"key", q.Key}, {"operator", q.Operator}}
		if q.Values != nil {
			body = append(body, member{"values", texts(q.Values)})
		}
		expressions = append(expressions, body)
	}
	body := object{}
	if labels != nil {
		body = append(body, member{"matchLabels", labels})
	}
	if len(expressions) > 0 {
		body = append(body, member{"matchExpressions", expressions})
	}
	return body
}

func (g *generator) kubernetesBindingBody(b *KubernetesBinding) object {
	kind := "ClusterRoleBinding"
	if b.Namespace != "" {
		kind = "RoleBinding"
	}
	ref := object{{"kind", b.RoleKind}, {"name", b.RoleName}}
	if !g.once(4) {
		ref = append(ref, member{"apiGroup", kubernetesGroup})
	}
	subjects := list{}
	for _, s := range b.Subjects {
		subject := object{{"kind", s.Kind}, {"name", s.Name}}
		if s.Kind != "ServiceAccount" && g.once(2) {
			subject = append(subject, member{"apiGroup", kubernetesGroup})
		}
		if s.Namespace != "" {
			subject = append(subject, member{"namespace", s.Namespace})
		}
		subjects = append(subjects, subject)
	}
	return append(kubernetesHeader(kind, b.Namespace, b.Name, nil), member{"roleRef", ref}, member{"subjects", subjects})
}
