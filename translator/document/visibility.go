package document

import (
	"github.com/writ-policy/writ/translator/diag"
)

const versionVisibility = "clusterpulse.io/v1alpha1"

var visibilityKinds = KindsOf(versionVisibility, (*decoder).visibility, kindMonitorAccessPolicy, kindMetricSource)

const (
	kindMonitorAccessPolicy = "MonitorAccessPolicy"
	kindMetricSource        = "MetricSource"
)

// The numbers a policy's priority is between, and the one it has by default.
const (
	maxPriority     = 10_000
	defaultPriority = 100
)

// visibility decodes a document of clusterpulse.io/v1alpha1.
func (d *decoder) visibility(n *node, kind *field) {
	h := d.header(FamilyVisibility, versionVisibility, kind.value.value, kind.key)
	c := d.cursor(n, h.Kind, false)
	c.at = kind.key
	c.skip("apiVersion", "kind", "status")
	identified := d.visibilityMetadata(c, &h)
	spec := c.requiredMapping("spec")
	var out Document
	if h.Kind == kindMonitorAccessPolicy {
		p := &MonitorAccessPolicy{Header: h, Priority: defaultPriority, Default: "none"}
		d.accessPolicy(spec, p)
		out = p
	} else {
		s := &MetricSource{Header: h, Of: Collected{Scope: "Namespaced"}, FilterAggregations: true}
		d.metricSource(spec, s)
		out = s
	}
	spec.done()
	c.done()
	if identified {
		d.out = append(d.out, out)
	}
}

// visibilityMetadata reads metadata and reports whether it identifies the
// document. Names are compared and never become paths, so any text is one.
func (d *decoder) visibilityMetadata(c *cursor, h *Header) bool {
	m := c.mapping("metadata")
	if m == nil {
		if c.value("metadata") == nil {
			c.missing("metadata", "write metadata: {name: NAME}")
		}
		return false
	}
	if n := m.text("namespace"); n != nil && n.value != "" {
		h.Namespace, h.NamespaceAt = n.value, d.at(n)
	}
	n := m.required("name")
	if n == nil || n.value == "" {
		return false
	}
	h.Name, h.NameAt = n.value, d.at(n)
	return true
}

// accessPolicy decodes the spec of a MonitorAccessPolicy.
func (d *decoder) accessPolicy(c *cursor, p *MonitorAccessPolicy) {
	if c == nil {
		return
	}
	p.PriorityAt, p.DefaultAt = d.at(c.at), d.at(c.at)
	d.accessIdentity(c.requiredMapping("identity"), p)
	d.accessEffect(c.requiredMapping("access"), p)
	if scope := c.requiredMapping("scope"); scope != nil {
		d.accessClusters(scope.requiredMapping("clusters"), p)
		scope.done()
	}
	if lifecycle := c.filledMapping("lifecycle"); lifecycle != nil {
		d.validity(lifecycle.filledMapping("validity"), p)
		lifecycle.done()
	}
	if f := c.field("operations"); f != nil && !f.value.isNull() {
		if f.value.kind != mapping {
			d.fail(f.value, diag.WrongType, "", "operations is a mapping, this is %s", describe(f.value))
			return
		}
		d.warn(f.key, diag.NoEffect, "leave it out", "operations has no effect")
	}
}

// accessIdentity decodes who a policy is about, and where it stands among others.
func (d *decoder) accessIdentity(c *cursor, p *MonitorAccessPolicy) {
	if c == nil {
		return
	}
	p.PriorityAt = d.at(c.at)
	if priority, at := c.integer("priority", 0, maxPriority); at != nil {
		p.Priority, p.PriorityAt = priority, d.at(at)
	}
	if s := c.requiredMapping("subjects"); s != nil {
		before := len(d.diags)
		p.Users, p.Groups = d.subjects(s, "users"), d.subjects(s, "groups")
		for _, n := range s.filledList("serviceAccounts") {
			d.accountSubject(n, p)
		}
		if len(p.Users)+len(p.Groups)+len(p.ServiceAccounts) == 0 && !d.wrongSince(before) {
			d.warn(s.at, diag.NoSubjects, "name users, groups or serviceAccounts", "subjects names nobody: the policy is about nobody")
		}
		s.done()
	}
	c.done()
}

// subjects decodes users or groups: whole strings, whatever is in them.
func (d *decoder) subjects(c *cursor, name string) []Text {
	var out []Text
	for _, n := range c.filledTexts(name) {
		if d.subject(n, name) {
			out = append(out, d.text(n))
		}
	}
	return out
}

// subject checks the name of a subject, which must not be empty.
func (d *decoder) subject(n *node, name string) bool {
	if n.value == "" {
		d.fail(n, diag.Missing, "leave it out", "an entry \"\" of %s is empty", name)
		return false
	}
	d.literal(n, name)
	return true
}

func (d *decoder) accountSubject(n *node, p *MonitorAccessPolicy) {
	c := d.cursor(n, "an entry of serviceAccounts", false)
	if c == nil {
		return
	}
	account := ServiceAccount{Namespace: "default", At: d.at(n)}
	ok := true
	if namespace := c.text("namespace"); namespace != nil {
		ok = d.subject(namespace, "namespace of serviceAccounts")
		account.Namespace = namespace.value
	}
	if name := c.required("name"); name != nil && name.value != "" {
		d.literal(name, "name of serviceAccounts")
		account.Name = name.value
	}
	c.done()
	if ok && account.Name != "" {
		p.ServiceAccounts = append(p.ServiceAccounts, account)
	}
}

// accessEffect decodes what a policy does.
func (d *decoder) accessEffect(c *cursor, p *MonitorAccessPolicy) {
	if effect := c.required("effect"); effect != nil && d.oneOf(effect, "effect", "Allow", "Deny") {
		p.Deny = effect.value == "Deny"
	}
	if enabled, at := c.boolean("enabled", false); at != nil {
		p.Disabled = !enabled
	}
	c.done()
}
