package document

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"

	"github.com/writ-policy/writ/translator/diag"
)

const version = "breakglass.t-caas.telekom.com/v1alpha1"

var denyPolicyKinds = KindsOf(version, (*decoder).denyPolicyFamily, kindDenyPolicy, kindEscalation)

const (
	kindDenyPolicy = "DenyPolicy"
	kindEscalation = "BreakglassEscalation"
)

// defaultPrecedence is that of a policy which says none.
const defaultPrecedence = 100

// denyPolicyFamily decodes a document of breakglass.t-caas.telekom.com/v1alpha1.
func (d *decoder) denyPolicyFamily(n *node, kind *field) {
	h := d.header(FamilyDenyPolicy, version, kind.value.value, kind.key)
	c := d.cursor(n, h.Kind, false)
	c.at = kind.key
	c.skip("apiVersion", "kind", "status")
	identified := d.denyPolicyMetadata(c, &h)
	spec := c.mapping("spec")
	if spec == nil && c.value("spec") == nil {
		c.missing("spec", "")
	}
	if h.Kind == kindDenyPolicy {
		p := &DenyPolicy{Header: h, Precedence: defaultPrecedence}
		d.denyPolicy(spec, p)
		if identified {
			d.out = append(d.out, p)
		}
	} else {
		e := &BreakglassEscalation{Header: h}
		d.escalation(spec, e)
		if identified {
			d.out = append(d.out, e)
		}
	}
	spec.done()
	c.done()
}

// denyPolicyMetadata reads metadata and reports whether it identifies the
// document. A namespace is no part of that.
func (d *decoder) denyPolicyMetadata(c *cursor, h *Header) bool {
	m := c.mapping("metadata")
	if m == nil {
		if c.value("metadata") == nil {
			c.missing("metadata", "write metadata: {name: NAME}")
		}
		return false
	}
	m.skip(serverFields...)
	m.skip("generateName", "annotations", "deletionTimestamp", "deletionGracePeriodSeconds")
	identified := d.nameInto(m, h)
	m.labels("labels")
	if n := m.text("namespace"); n != nil && n.value != "" {
		if h.Kind == kindDenyPolicy {
			d.warn(n, diag.IgnoredNamespace, "leave it out; rules say their namespaces themselves",
				"namespace %s means nothing: a DenyPolicy holds in all of them", quote(n.value))
		} else {
			d.checkForm(n, diag.BadName, "namespace", content.IsDNS1123Label(n.value))
		}
	}
	m.done()
	return identified
}

// denyPolicy decodes the spec of a DenyPolicy.
func (d *decoder) denyPolicy(c *cursor, p *DenyPolicy) {
	if c == nil {
		return
	}
	if precedence, at := c.integer("precedence", 0, maxInteger); at != nil {
		p.Precedence = precedence
	}
	d.appliesTo(c.mapping("appliesTo"), p)
	rules, rulesAt := c.list("rules")
	for _, n := range rules {
		p.Rules = append(p.Rules, d.denyRule(n))
	}
	if pod := c.mapping("podSecurityRules"); pod != nil {
		p.Pod = d.podSecurity(pod)
	}
	if c.value("podSecurityRules") == nil {
		const hint = "a policy denies by rules, podSecurityRules or both"
		switch {
		case c.value("rules") == nil:
			c.fail(c.at, diag.Missing, hint, "spec has neither rules nor podSecurityRules")
		case rulesAt != nil && len(rules) == 0:
			c.fail(c.field("rules").key, diag.Missing, hint, "rules of spec is empty, and there are no podSecurityRules")
		}
	}
	if c.value("impersonationRules") != nil {
		c.fail(c.field("impersonationRules").key, diag.Unsupported, "the verb \"impersonate\" in rules stops impersonation",
			"impersonationRules are not supported yet")
	}
}

// appliesTo decodes where a policy is in scope: everywhere without it.
func (d *decoder) appliesTo(c *cursor, p *DenyPolicy) {
	p.Clusters = d.globList(c, "clusters")
	p.Tenants = d.globList(c, "tenants")
	p.Sessions = d.globList(c, "sessions")
	refs, _ := c.texts("escalationRefs")
	d.globs(refs, "escalationRefs")
	for _, n := range refs {
		p.EscalationRefs = append(p.EscalationRefs, d.text(n))
	}
	c.done()
}

// globList decodes an optional list of globs.
func (d *decoder) globList(c *cursor, name string) []string {
	items, _ := c.texts(name)
	d.globs(items, name)
	return values(items)
}

// denyRule decodes one of rules.
func (d *decoder) denyRule(n *node) DenyRule {
	r := DenyRule{At: d.at(n)}
	c := d.cursor(n, "a rule", false)
	if c == nil {
		return r
	}
	c.hints = map[string]string{
		"resourcekinds": "write resources", "nonresourceurls": "rules are about resources only",
		"namespace": "write namespaces: [NAMESPACE]",
	}
	verbs, _ := c.requiredTexts("verbs")
	groups, _ := c.requiredTexts("apiGroups")
	resources, _ := c.requiredTexts("resources")
	subresources, _ := c.texts("subresources")
	d.words(verbs, "verbs", word)
	d.words(groups, "apiGroups", anyWord)
	d.words(resources, "resources", resourceWord)
	d.words(subresources, "subresources", anyWord)
	r.Verbs, r.APIGroups, r.Resources, r.Subresources = values(verbs), values(groups), values(resources), values(subresources)
	r.Namespaces = d.namespaces(c, "namespaces", (*decoder).globs)
	r.ResourceNames = d.globList(c, "resourceNames")
	d.neverNamed(c, &r)
	c.done()
	return r
}

// oneOf reports a value that is none of those a field takes.
func (d *decoder) oneOf(n *node, name string, known ...string) bool {
	if slices.Contains(known, n.value) {
		return true
	}
	hint := "write " + strings.Join(known, " or ")
	if near := diag.Suggest(n.value, known); near != "" {
		hint = "did you mean " + quote(near) + "?"
	}
	d.fail(n, diag.BadValue, hint, "%s %s is not known", name, quote(n.value))
	return false
}
