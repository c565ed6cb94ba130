package mutants

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/writ-policy/writ/translator/tables"
)

// denyPolicy adds the sites of a deny policy: each denies less.
func (d *directory) denyPolicy(doc *document) {
	d.policyDropped(doc)
	spec := doc.get("spec")
	for i, rule := range spec.get("rules").items() {
		here := func(v value) value { return v.get("spec", "rules").items()[i] }
		if len(spec.get("rules").items()) > 1 {
			d.add(doc, "rule-dropped", rule, fmt.Sprintf("rule %d dropped", i+1), func(v value) { v.get("spec", "rules").remove(i) })
		}
		d.elementsDropped(doc, here, rule, "verbs", "verb-dropped")
		d.elementsDropped(doc, here, rule, "resources", "resource-dropped")
		d.narrowed(doc, here, rule.get("resourceNames"), "names-narrowed", "resourceNames")
		d.namespaceExempted(doc, here, rule)
	}
	for _, a := range tables.ScopeAttributes {
		if here := func(v value) value { return v.get("spec", "appliesTo") }; !a.IsReferred {
			d.narrowed(doc, here, spec.get("appliesTo", a.List), "scope-narrowed", a.List)
		}
	}
	if pods := spec.get("podSecurityRules"); pods.Node != nil {
		d.podSecurity(doc, pods)
	}
}

// policyDropped adds a site that drops a whole document. It becomes one of another kind, so that
// its place stays.
func (d *directory) policyDropped(doc *document) {
	d.add(doc, "policy-dropped", doc.value, doc.kind+" "+doc.name()+" dropped", func(v value) {
		*v.Node = *mapping("apiVersion", "v1", "kind", "ConfigMap", "metadata", mapping("name", "dropped"))
	})
}

// elementsDropped adds a site for each element of a list that has others.
func (d *directory) elementsDropped(doc *document, here func(value) value, rule value, key, operator string) {
	items := rule.get(key).items()
	if len(items) < 2 {
		return
	}
	for i, item := range items {
		d.add(doc, operator, item, fmt.Sprintf("%q dropped from %s", item.text(), key), func(v value) { here(v).get(key).remove(i) })
	}
}

// narrowed adds a site for each glob of a list, which becomes one text that it fits.
func (d *directory) narrowed(doc *document, here func(value) value, in value, operator, key string) {
	for i, item := range in.items() {
		glob := item.text()
		if !strings.ContainsAny(glob, "*?[") {
			continue
		}
		text := literalOf(glob)
		d.add(doc, operator, item, fmt.Sprintf("%q of %s becomes %q", glob, key, text), func(v value) { here(v).get(key).Content[i] = scalar(text) })
	}
}

// literalOf returns a text that a glob fits.
func literalOf(glob string) string {
	var out strings.Builder
	for i := 0; i < len(glob); i++ {
		switch glob[i] {
		case '*':
			out.WriteString("example")
		case '?':
			out.WriteByte('x')
		case '[':
			end := strings.IndexByte(glob[i:], ']')
			if end < 2 {
				return glob
			}
			out.WriteByte(glob[i+1])
			i += end
		default:
			out.WriteByte(glob[i])
		}
	}
	return out.String()
}

// namespaceExempted adds a site for each namespace that a rule names: all but one of them are left,
// or the rule denies in all but the first that documents have.
func (d *directory) namespaceExempted(doc *document, here func(value) value, rule value) {
	in, path := rule.get("namespaces"), []string{"namespaces"}
	if patterns := in.get("patterns"); patterns.Node != nil {
		in, path = patterns, append(path, "patterns")
	}
	if items := in.items(); len(items) > 0 {
		for i, item := range items {
			if len(items) > 1 {
				d.add(doc, "namespace-exempted", item, fmt.Sprintf("namespace %q exempted", item.text()), func(v value) { here(v).get(path...).remove(i) })
			}
			if glob := item.text(); strings.ContainsAny(glob, "*?[") {
				text := literalOf(glob)
				d.add(doc, "scope-narrowed", item, fmt.Sprintf("%q of namespaces becomes %q", glob, text), func(v value) { here(v).get(path...).Content[i] = scalar(text) })
			}
		}
		return
	}
	if in.Node != nil {
		return
	}
	first := d.firstNamespace()
	if first == "" {
		return
	}
	d.add(doc, "namespace-exempted", rule, fmt.Sprintf("namespace %q exempted", first), func(v value) {
		here(v).set("namespaces", mapping("selectorTerms", &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{
			mapping("matchExpressions", &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{
				mapping("key", "kubernetes.io/metadata.name", "operator", "NotIn", "values", list(first)),
			}}),
		}}))
	})
}

// firstNamespace returns the first namespace of a document, "" without any.
func (d *directory) firstNamespace() string {
	var all []string
	for _, doc := range d.documents {
		if in := doc.namespace(); in != "" {
			all = append(all, in)
		}
	}
	if len(all) == 0 {
		return ""
	}
	return slices.Min(all)
}

// podSecurity adds the sites of the rules about pods.
func (d *directory) podSecurity(doc *document, pods value) {
	here := func(v value) value { return v.get("spec", "podSecurityRules") }
	factors := factorsOf(pods.get("riskFactors"))
	for i, t := range pods.get("thresholds").items() {
		most, err := strconv.Atoi(t.get("maxScore").text())
		if err != nil {
			continue
		}
		at := slices.IndexFunc(factors, func(n int) bool { return n > 0 })
		if at < 0 {
			continue
		}
		to := strconv.Itoa(most + factors[at])
		d.add(doc, "threshold-raised", t.get("maxScore"), fmt.Sprintf("maxScore %d becomes %s", most, to), func(v value) {
			here(v).get("thresholds").items()[i].set("maxScore", number(to))
		})
	}
	for i, factor := range pods.get("blockFactors").items() {
		d.add(doc, "block-factor-dropped", factor, fmt.Sprintf("%q dropped from blockFactors", factor.text()), func(v value) { here(v).get("blockFactors").remove(i) })
	}
	if pods.get("failMode").text() != "open" {
		d.add(doc, "fail-open", pods, "failMode becomes open", func(v value) { here(v).set("failMode", scalar("open")) })
	}
	exempt := d.firstNamespace()
	if exempt == "" || pods.get("exemptions", "namespaces").isMapping() || pods.get("exemptions", "namespaces").has(exempt) {
		return
	}
	d.add(doc, "exemption-added", pods, fmt.Sprintf("namespace %q exempted", exempt), func(v value) {
		p := here(v)
		if p.get("exemptions").Node == nil {
			p.set("exemptions", mapping())
		}
		e := p.get("exemptions")
		if e.get("namespaces").Node == nil {
			e.set("namespaces", list())
		}
		e.get("namespaces").add(scalar(exempt))
	})
}

// factorsOf returns the points of risk factors, sorted.
func factorsOf(v value) []int {
	var out []int
	v.members(func(_ string, m value) {
		if n, err := strconv.Atoi(m.text()); err == nil {
			out = append(out, n)
		}
		m.members(func(_ string, m value) {
			if n, err := strconv.Atoi(m.text()); err == nil {
				out = append(out, n)
			}
		})
	})
	slices.Sort(out)
	return out
}
