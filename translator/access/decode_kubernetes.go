package access

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

//go:embed fields_kubernetes.txt
var kubernetesTexts string

const versionKubernetes = "rbac.authorization.k8s.io/v1"

// kubernetesKinds are the kinds of Kubernetes RBAC.
var kubernetesKinds = syntax.KindsOf(versionKubernetes, decodeKubernetes,
	"Role", "ClusterRole", kindRoleBinding, kindClusterRoleBinding).WithDates(kindRoleBinding, kindClusterRoleBinding).WithWords(roleWords...).WithTargets(rolesOfKubernetes).WithTexts(kubernetesTexts)

// roleWords are parts of groups that have roles and bindings.
var roleWords = []string{"rbac", "authorization"}

const kubernetesGroup = "rbac.authorization.k8s.io"

// kubernetesHints are the hints for fields of writ.dev documents in Kubernetes documents.
var kubernetesHints = map[string]string{
	"deny":                  "Kubernetes rules only allow; a Role of " + syntax.VersionWrit + " may deny",
	"resourcekinds":         `write resources and apiGroups; resourceKinds belongs to ` + syntax.VersionWrit,
	"attributerestrictions": "only rules of " + syntax.VersionWrit + " have restrictions",
	"usernames":             "write subjects: [{kind: User, name: NAME}]",
	"groupnames":            "write subjects: [{kind: Group, name: NAME}]",
	"rolename":              "write roleRef: {kind: Role, name: NAME}",
	"rule":                  "did you mean \"rules\"?",
}

// decodeKubernetes decodes a document of rbac.authorization.k8s.io/v1.
func decodeKubernetes(d *syntax.Decoder, n *syntax.Node, kind *syntax.Field) {
	h := d.Header(FamilyKubernetes, versionKubernetes, kind.Value.Value, kind.Key)
	c := d.Cursor(n, h.Kind, false)
	c.At, c.Hints = kind.Key, kubernetesHints
	c.Skip("apiVersion", "kind")
	namespaced := h.Kind == "Role" || h.Kind == "RoleBinding"
	labels, period, identified := decodeKubernetesMetadata(d, c, &h, namespaced)
	h.Stock = labels["kubernetes.io/bootstrapping"] == "rbac-defaults"
	if strings.HasSuffix(h.Kind, "Binding") {
		b := &KubernetesBinding{Header: h, Dates: period}
		if decodeKubernetesBinding(d, c, b) && identified {
			d.Out = append(d.Out, b)
		}
	} else {
		r := &KubernetesRole{Header: h, Labels: labels}
		decodeKubernetesRole(d, c, r, namespaced)
		if identified {
			d.Out = append(d.Out, r)
		}
	}
	c.Done()
}

// decodeKubernetesMetadata reads metadata and reports whether it identifies the
// document.
func decodeKubernetesMetadata(d *syntax.Decoder, c *syntax.Cursor, h *syntax.Header, namespaced bool) (labels map[string]string, period syntax.Dates, ok bool) {
	m := c.RequiredMapping("metadata", "write metadata: {name: NAME}, and the namespace of a namespaced kind")
	if m == nil {
		return nil, period, false
	}
	m.Skip(syntax.ServerFields...)
	m.Skip("generateName", "annotations", "deletionTimestamp", "deletionGracePeriodSeconds")
	if h.Kind == kindRoleBinding || h.Kind == kindClusterRoleBinding {
		period = d.AnnotatedDates(m, dates.Never, "grants this")
	}
	ok = d.NameInto(m, h)
	if namespaced {
		ok = decodeKubernetesNamespace(d, m, h) && ok
	} else if n := m.Text("namespace"); n != nil && n.Value != "" {
		d.Warn(n, diag.NamespaceIgnored, "leave it out, or use the namespaced kind", "namespace %s has no effect: a %s has none", syntax.Quote(n.Value), h.Kind)
	}
	labels = m.Labels("labels")
	m.Done()
	return labels, period, ok
}

// decodeKubernetesNamespace is NamespaceInto with the API server's stricter form, and the
// default namespace.
func decodeKubernetesNamespace(d *syntax.Decoder, m *syntax.Cursor, h *syntax.Header) bool {
	n := m.Text("namespace")
	switch {
	case n == nil && m.Value("namespace") != nil: // a wrong type, which is reported
		return false
	case n != nil && n.Value != "":
	case d.FillNamespace(h):
		return true
	default:
		m.Missing("namespace", syntax.NamespaceHint)
		return false
	}
	h.Namespace = n.Value
	return d.CheckNamespace(n)
}

func decodeKubernetesRole(d *syntax.Decoder, c *syntax.Cursor, r *KubernetesRole, namespaced bool) {
	rules, _ := c.List("rules")
	r.Rules = make([]KubernetesRule, 0, len(rules))
	for _, n := range rules {
		r.Rules = append(r.Rules, decodeKubernetesRule(d, n, namespaced))
	}
	if namespaced {
		return
	}
	f := c.Field("aggregationRule")
	if f == nil || f.Value.IsNull() {
		return
	}
	r.Aggregation = &Aggregation{At: d.At(f.Key)}
	a := c.Mapping("aggregationRule")
	if a == nil {
		return
	}
	selectors, _ := a.List("clusterRoleSelectors")
	if a.Value("clusterRoleSelectors") == nil {
		a.Missing("clusterRoleSelectors", "")
	} else if s := a.Field("clusterRoleSelectors"); s.Value.Type == syntax.List && len(selectors) == 0 {
		a.Fail(s.Key, diag.Missing, "", "clusterRoleSelectors of aggregationRule is empty")
	}
	for _, n := range selectors {
		r.Aggregation.Selectors = append(r.Aggregation.Selectors, d.Selector(n))
	}
	a.Done()
}

// decodeKubernetesRule decodes a PolicyRule by the API server's validation.
func decodeKubernetesRule(d *syntax.Decoder, n *syntax.Node, namespaced bool) KubernetesRule {
	r := KubernetesRule{At: d.At(n), KubernetesLists: new(tables.KubernetesLists)}
	c := d.Cursor(n, "a rule", false)
	if c == nil {
		return r
	}
	c.Hints, c.Nulls = kubernetesHints, true
	verbs, _ := c.RequiredTexts("verbs")
	urls, _ := c.Texts("nonResourceURLs")
	names, _ := c.Texts("resourceNames")
	var groups, resources []*syntax.Node
	if f := c.Field("nonResourceURLs"); f != nil && len(f.Value.Items) > 0 {
		groups, _ = c.Texts("apiGroups")
		resources, _ = c.Texts("resources")
		if namespaced {
			c.Fail(f.Key, diag.BadValue, "use a ClusterRole and a ClusterRoleBinding", "nonResourceURLs in a Role: a namespace has no URLs")
		}
		if len(groups)+len(resources)+len(names) > 0 {
			c.Fail(f.Key, diag.BadValue, "write two rules", "nonResourceURLs together with apiGroups, resources or resourceNames")
		}
	} else {
		groups, _ = c.RequiredTexts("apiGroups")
		resources, _ = c.RequiredTexts("resources")
	}
	c.Done()
	lists := tables.KubernetesLists{
		Verbs: d.SharedValues(verbs), Groups: d.SharedValues(groups), Resources: d.SharedValues(resources),
		Names: d.SharedValues(names), Paths: d.SharedValues(urls),
	}
	r.KubernetesLists = syntax.Share(d, lists.Key(), &lists)
	checkKubernetesLiterals(d, verbs, groups, resources, names, urls)
	warnOfSlips(d, &r, verbs, resources)
	return r
}

// checkKubernetesLiterals warns about entries that look like patterns but are literals.
func checkKubernetesLiterals(d *syntax.Decoder, verbs, groups, resources, names, urls []*syntax.Node) {
	for _, n := range slices.Concat(verbs, groups) {
		if n.Value != "*" && strings.Contains(n.Value, "*") {
			d.Warn(n, diag.LiteralPattern, "only a whole \"*\" is a wildcard", "%s is compared literally", syntax.Quote(n.Value))
		}
	}
	for _, n := range resources {
		resource, sub, _ := strings.Cut(n.Value, "/")
		if strings.Contains(sub, "*") || resource != "*" && strings.Contains(resource, "*") {
			d.Warn(n, diag.LiteralPattern, `only "*" and "*/SUBRESOURCE" are wildcards`, "resource %s is compared literally", syntax.Quote(n.Value))
		}
	}
	for _, n := range names {
		if n.Value == "" || strings.Contains(n.Value, "*") {
			d.Warn(n, diag.LiteralPattern, "leave resourceNames out to mean any name", "resource name %s is compared literally", syntax.Quote(n.Value))
		}
	}
	for _, n := range urls {
		prefix := strings.TrimRight(n.Value, "*")
		switch {
		case strings.Contains(prefix, "*"):
			d.Warn(n, diag.LiteralPattern, "only a trailing \"*\" is a wildcard", "\"*\" inside URL %s is compared literally", syntax.Quote(n.Value))
		case n.Value == "" || prefix != "" && prefix[0] != '/':
			d.Warn(n, diag.LiteralPattern, "paths begin with \"/\"", "URL %s fits no path", syntax.Quote(n.Value))
		}
	}
}
