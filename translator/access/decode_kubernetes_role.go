package access

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
	"github.com/writ-policy/writ/translator/vocabulary"
)

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
	r.Aggregation.Selectors = append(r.Aggregation.Selectors, elements.Map(selectors, d.Selector)...)
	a.Done()
}

// decodeKubernetesRule decodes a PolicyRule by the API server's validation.
func decodeKubernetesRule(d *syntax.Decoder, n *syntax.Node, namespaced bool) KubernetesRule {
	r, lists := KubernetesRule{At: d.At(n)}, new(tables.KubernetesLists)
	c := d.Cursor(n, "a rule", false)
	if c == nil {
		r.KubernetesLists = lists
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
	*lists = tables.KubernetesLists{
		Verbs: d.SharedValues(verbs), Groups: d.SharedValues(groups), Resources: d.SharedValues(resources),
		Names: d.SharedValues(names), Paths: d.SharedValues(urls),
	}
	r.KubernetesLists = syntax.Share(d, lists.Key(), lists)
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

// warnOfSlips warns about verbs and resources that are spelt almost like one that
// Kubernetes has. It cannot know custom ones, so words that are far from all are fine.
func warnOfSlips(d *syntax.Decoder, r *KubernetesRule, verbs, resources []*syntax.Node) {
	known := vocabulary.Verbs
	if len(r.Paths) > 0 {
		known = vocabulary.URLVerbs
	}
	for _, n := range verbs {
		d.Examples(n, vocabulary.URLVerbs)
		if strings.Contains(n.Value, "*") || slices.Contains(known, n.Value) {
			continue
		}
		if near := vocabulary.Near(n.Value, known); near != "" {
			d.Warn(n, diag.UnknownVerb, "did you mean "+syntax.Quote(near)+"?", "Kubernetes does not know the verb %s", syntax.Quote(n.Value))
		}
	}
	builtin := vocabulary.Served(r.Groups)
	for _, n := range resources {
		resource, _, _ := strings.Cut(n.Value, "/")
		if strings.Contains(resource, "*") || slices.Contains(builtin, resource) {
			continue
		}
		near := vocabulary.NearResource(resource, builtin)
		switch {
		case near != "":
			d.Warn(n, diag.UnknownResource, "did you mean "+syntax.Quote(near)+"?", "no API group of the rule has the resource %s in Kubernetes", syntax.Quote(resource))
		case resource != strings.ToLower(resource):
			d.Warn(n, diag.UnknownResource, "write the plural in lower case, as in the URL of the API",
				"resource %s has capitals: no request has it", syntax.Quote(resource))
		}
	}
}
