package document

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"

	"github.com/writ-policy/writ/translator/diag"
)

const versionKubernetes = "rbac.authorization.k8s.io/v1"

var kubernetesKinds = KindsOf(versionKubernetes, (*decoder).kubernetes,
	"Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")

const kubernetesGroup = "rbac.authorization.k8s.io"

// kubernetesHints say what a Kubernetes document has instead of what writ.dev
// documents have.
var kubernetesHints = map[string]string{
	"deny":                  "Kubernetes rules only allow; a Role of " + versionWrit + " may deny",
	"resourcekinds":         `write resources and apiGroups; resourceKinds belongs to ` + versionWrit,
	"attributerestrictions": "only rules of " + versionWrit + " have restrictions",
	"usernames":             "write subjects: [{kind: User, name: NAME}]",
	"groupnames":            "write subjects: [{kind: Group, name: NAME}]",
	"rolename":              "write roleRef: {kind: Role, name: NAME}",
	"rule":                  "did you mean \"rules\"?",
}

// kubernetes decodes a document of rbac.authorization.k8s.io/v1.
func (d *decoder) kubernetes(n *node, kind *field) {
	h := d.header(FamilyKubernetes, versionKubernetes, kind.value.value, kind.key)
	c := d.cursor(n, h.Kind, false)
	c.at, c.hints = kind.key, kubernetesHints
	c.skip("apiVersion", "kind")
	namespaced := h.Kind == "Role" || h.Kind == "RoleBinding"
	labels, identified := d.kubernetesMetadata(c, &h, namespaced)
	if strings.HasSuffix(h.Kind, "Binding") {
		b := &KubernetesBinding{Header: h}
		if d.kubernetesBinding(c, b) && identified {
			d.out = append(d.out, b)
		}
	} else {
		r := &KubernetesRole{Header: h, Labels: labels}
		d.kubernetesRole(c, r, namespaced)
		if identified {
			d.out = append(d.out, r)
		}
	}
	c.done()
}

// kubernetesMetadata reads metadata and reports whether it identifies the
// document.
func (d *decoder) kubernetesMetadata(c *cursor, h *Header, namespaced bool) (labels map[string]string, ok bool) {
	m := c.mapping("metadata")
	if m == nil {
		if c.value("metadata") == nil {
			c.missing("metadata", "write metadata: {name: NAME}, and the namespace of a namespaced kind")
		}
		return nil, false
	}
	m.skip(serverFields...)
	m.skip("generateName", "annotations", "deletionTimestamp", "deletionGracePeriodSeconds")
	ok = d.nameInto(m, h)
	if namespaced {
		ok = d.kubernetesNamespace(m, h) && ok
	} else if n := m.text("namespace"); n != nil && n.value != "" {
		c.fail(n, diag.BadValue, "leave it out, or use the namespaced kind", "a %s has no namespace, this says %s", h.Kind, quote(n.value))
		ok = false
	}
	labels = m.labels("labels")
	m.done()
	return labels, ok
}

// kubernetesNamespace is namespaceInto with the API server's stricter form.
func (d *decoder) kubernetesNamespace(m *cursor, h *Header) bool {
	n := m.required("namespace")
	if n == nil {
		return false
	}
	h.Namespace, h.NamespaceAt = n.value, d.at(n)
	return d.checkForm(n, diag.BadName, "namespace", content.IsDNS1123Label(n.value))
}

func (d *decoder) kubernetesRole(c *cursor, r *KubernetesRole, namespaced bool) {
	rules, _ := c.list("rules")
	r.Rules = make([]KubernetesRule, 0, len(rules))
	for _, n := range rules {
		r.Rules = append(r.Rules, d.kubernetesRule(n, namespaced))
	}
	if namespaced {
		return
	}
	f := c.field("aggregationRule")
	if f == nil || f.value.isNull() {
		return
	}
	r.Aggregated, r.AggregateAt = true, d.at(f.key)
	a := c.mapping("aggregationRule")
	if a == nil {
		return
	}
	selectors, _ := a.list("clusterRoleSelectors")
	if a.value("clusterRoleSelectors") == nil {
		a.missing("clusterRoleSelectors", "")
	} else if s := a.field("clusterRoleSelectors"); s.value.kind == list && len(selectors) == 0 {
		a.fail(s.key, diag.Missing, "", "clusterRoleSelectors of aggregationRule is empty")
	}
	for _, n := range selectors {
		r.Selectors = append(r.Selectors, d.selector(n))
	}
	a.done()
}

// kubernetesRule decodes a PolicyRule by the API server's validation.
func (d *decoder) kubernetesRule(n *node, namespaced bool) KubernetesRule {
	r := KubernetesRule{At: d.at(n)}
	c := d.cursor(n, "a rule", false)
	if c == nil {
		return r
	}
	c.hints, c.nulls = kubernetesHints, true
	verbs, _ := c.requiredTexts("verbs")
	urls, _ := c.texts("nonResourceURLs")
	names, _ := c.texts("resourceNames")
	var groups, resources []*node
	if f := c.field("nonResourceURLs"); f != nil && len(f.value.items) > 0 {
		groups, _ = c.texts("apiGroups")
		resources, _ = c.texts("resources")
		if namespaced {
			c.fail(f.key, diag.BadValue, "use a ClusterRole and a ClusterRoleBinding", "nonResourceURLs in a Role: a namespace has no URLs")
		}
		if len(groups)+len(resources)+len(names) > 0 {
			c.fail(f.key, diag.BadValue, "write two rules", "nonResourceURLs together with apiGroups, resources or resourceNames")
		}
	} else {
		groups, _ = c.requiredTexts("apiGroups")
		resources, _ = c.requiredTexts("resources")
	}
	c.done()
	r.Verbs, r.APIGroups, r.Resources = values(verbs), values(groups), values(resources)
	r.ResourceNames, r.NonResourceURLs = values(names), values(urls)
	d.kubernetesLiterals(verbs, groups, resources, names, urls)
	return r
}

// kubernetesLiterals warns of entries that read like patterns and are none.
func (d *decoder) kubernetesLiterals(verbs, groups, resources, names, urls []*node) {
	for _, n := range slices.Concat(verbs, groups) {
		if n.value != "*" && strings.Contains(n.value, "*") {
			d.warn(n, diag.LiteralPattern, "only a whole \"*\" is a wildcard", "%s is compared literally", quote(n.value))
		}
	}
	for _, n := range resources {
		resource, sub, _ := strings.Cut(n.value, "/")
		if strings.Contains(sub, "*") || resource != "*" && strings.Contains(resource, "*") {
			d.warn(n, diag.LiteralPattern, `only "*" and "*/SUBRESOURCE" are wildcards`, "resource %s is compared literally", quote(n.value))
		}
	}
	for _, n := range names {
		if n.value == "" || strings.Contains(n.value, "*") {
			d.warn(n, diag.LiteralPattern, "leave resourceNames out to mean any name", "resource name %s is compared literally", quote(n.value))
		}
	}
	for _, n := range urls {
		prefix := strings.TrimRight(n.value, "*")
		switch {
		case strings.Contains(prefix, "*"):
			d.warn(n, diag.LiteralPattern, "only a trailing \"*\" is a wildcard", "\"*\" inside URL %s is compared literally", quote(n.value))
		case n.value == "" || prefix != "" && prefix[0] != '/':
			d.warn(n, diag.LiteralPattern, "paths begin with \"/\"", "URL %s fits no path", quote(n.value))
		}
	}
}
