package access

import (
	"maps"
	"slices"

	"github.com/writ-policy/writ/tests/oracle"
	"github.com/writ-policy/writ/tests/oracle/yaml"
)

const kubernetesGroup = "rbac.authorization.k8s.io"

// KubernetesDocuments writes the roles and bindings of Kubernetes.
func (g *Generator) KubernetesDocuments() []yaml.Object {
	var documents []yaml.Object
	for _, role := range g.World.KubernetesRoles {
		documents = append(documents, g.kubernetesRole(role))
	}
	for _, b := range g.World.KubernetesBindings {
		documents = append(documents, g.kubernetesBindingBody(b))
	}
	return documents
}

func kubernetesHeader(kind any, namespace, name string, labels map[string]string, dates oracle.Dates) yaml.Object {
	metadata := yaml.Object{{"name", name}}
	if annotations := yaml.Annotations(dates.NotBefore, dates.NotAfter); annotations != nil {
		metadata = append(metadata, yaml.Member{"annotations", annotations})
	}
	if namespace != "" {
		metadata = append(metadata, yaml.Member{"namespace", namespace})
	}
	if labels != nil {
		written := yaml.Object{}
		for _, key := range slices.Sorted(maps.Keys(labels)) {
			written = append(written, yaml.Member{key, labels[key]})
		}
		metadata = append(metadata, yaml.Member{"labels", written})
	}
	return yaml.Object{{"apiVersion", KubernetesVersion}, {"kind", kind}, {"metadata", metadata}}
}

func (g *Generator) kubernetesRole(role *KubernetesRole) yaml.Object {
	kind := "ClusterRole"
	if role.Namespace != "" {
		kind = "Role"
	}
	document := kubernetesHeader(kind, role.Namespace, role.Name, role.Labels, oracle.Dates{})
	if role.Selectors != nil {
		selectors := yaml.List{}
		for _, s := range role.Selectors {
			selectors = append(selectors, s.Body())
		}
		document = append(document, yaml.Member{"aggregationRule", yaml.Object{{"clusterRoleSelectors", selectors}}})
	}
	rules := yaml.List{}
	for _, rule := range role.Rules {
		var body yaml.Object
		for _, part := range []struct {
			key    string
			values []string
		}{
			{"verbs", rule.Verbs}, {"apiGroups", rule.APIGroups}, {"resources", rule.Resources},
			{"resourceNames", rule.ResourceNames}, {"nonResourceURLs", rule.NonResourceURLs},
		} {
			if part.values != nil {
				body = append(body, yaml.Member{part.key, yaml.Texts(part.values)})
			}
		}
		rules = append(rules, yaml.Mark(body, &rule.Source))
	}
	return append(document, yaml.Member{"rules", rules})
}

func (g *Generator) kubernetesBindingBody(b *KubernetesBinding) yaml.Object {
	kind := "ClusterRoleBinding"
	if b.Namespace != "" {
		kind = "RoleBinding"
	}
	ref := yaml.Object{{"kind", b.RoleKind}, {"name", b.RoleName}}
	if !g.Once(4) {
		ref = append(ref, yaml.Member{"apiGroup", kubernetesGroup})
	}
	subjects := yaml.List{}
	for _, s := range b.Subjects {
		subject := yaml.Object{{"kind", s.Kind}, {"name", s.Name}}
		if s.Kind != "ServiceAccount" && g.Once(2) {
			subject = append(subject, yaml.Member{"apiGroup", kubernetesGroup})
		}
		if s.Namespace != "" {
			subject = append(subject, yaml.Member{"namespace", s.Namespace})
		}
		subjects = append(subjects, subject)
	}
	return append(kubernetesHeader(yaml.Mark(kind, &b.Source), b.Namespace, b.Name, nil, b.Dates), yaml.Member{"roleRef", ref}, yaml.Member{"subjects", subjects})
}
