package visibility

import (
	_ "embed"
	"slices"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
)

//go:embed fields.txt
var fieldTexts string

const (
	groupVisibility   = "clusterpulse.io"
	versionVisibility = groupVisibility + "/v1alpha1"
)

// kinds are the kinds of the visibility family, and the kinds of its group that hold no
// policy.
var kinds = slices.Concat(
	syntax.KindsOf(versionVisibility, decodeVisibility, kindMonitorAccessPolicy, kindMetricSource).WithWords("clusterpulse").WithTexts(fieldTexts),
	syntax.SkippedKinds(groupVisibility, "ClusterConnection", "RegistryConnection"),
)

const (
	kindMonitorAccessPolicy = "MonitorAccessPolicy"
	kindMetricSource        = "MetricSource"
)

// The range of a policy's priority, both ends included, and its default.
const (
	maxPriority     = 10_000
	defaultPriority = 100
)

// decodeVisibility decodes a document of clusterpulse.io/v1alpha1.
func decodeVisibility(d *syntax.Decoder, n *syntax.Node, kind *syntax.Field) {
	h, c := d.Begin(n, kind, FamilyVisibility, versionVisibility, "status")
	identified := decodeVisibilityMetadata(d, c, &h)
	h.ByName = true
	spec := c.RequiredMapping("spec", "")
	var out syntax.Document
	if h.Kind == kindMonitorAccessPolicy {
		p := &MonitorAccessPolicy{Header: h, Priority: defaultPriority, Default: "none"}
		decodeAccessPolicy(d, spec, p)
		out = p
	} else {
		s := &MetricSource{Header: h, Of: Collected{Scope: "Namespaced"}, FilterAggregations: true}
		decodeMetricSource(d, spec, s)
		out = s
	}
	spec.Done()
	c.Done()
	if identified {
		d.Out = append(d.Out, out)
	}
}

// decodeVisibilityMetadata reads metadata and reports whether it identifies the
// document.
func decodeVisibilityMetadata(d *syntax.Decoder, c *syntax.Cursor, h *syntax.Header) bool {
	m := c.RequiredMapping("metadata", "write metadata: {name: NAME}")
	if m == nil {
		return false
	}
	valid := true
	if n := m.Text("namespace"); n != nil && n.Value != "" {
		h.Namespace = n.Value
		valid = d.CheckNamespace(n)
	} else {
		d.FillNamespace(h)
	}
	return d.CustomNameInto(m, h) && valid
}

// decodeAccessPolicy decodes the spec of a MonitorAccessPolicy.
func decodeAccessPolicy(d *syntax.Decoder, c *syntax.Cursor, p *MonitorAccessPolicy) {
	if c == nil {
		return
	}
	p.PriorityAt, p.DefaultAt = d.At(c.At), d.At(c.At)
	decodeAccessIdentity(d, c.RequiredMapping("identity", ""), p)
	decodeAccessEffect(d, c.RequiredMapping("access", ""), p)
	if scope := c.RequiredMapping("scope", ""); scope != nil {
		decodeAccessClusters(d, scope.RequiredMapping("clusters", ""), p)
		scope.Done()
	}
	if lifecycle := c.FilledMapping("lifecycle"); lifecycle != nil {
		decodeValidity(d, lifecycle.FilledMapping("validity"), p)
		lifecycle.Done()
	}
	if f := c.Field("operations"); f != nil && !f.Value.IsNull() {
		if f.Value.Type != syntax.Mapping {
			d.Fail(f.Value, diag.WrongType, "", "operations must be a mapping, not %s", syntax.Describe(f.Value))
			return
		}
		d.Warn(f.Key, diag.NoEffect, "leave it out", "operations has no effect")
	}
}

// decodeAccessIdentity decodes the subjects and the priority of a policy.
func decodeAccessIdentity(d *syntax.Decoder, c *syntax.Cursor, p *MonitorAccessPolicy) {
	if c == nil {
		return
	}
	p.PriorityAt = d.At(c.At)
	if priority, at := c.Integer("priority", 0, maxPriority); at != nil {
		p.Priority, p.PriorityAt = priority, d.At(at)
	}
	if s := c.RequiredMapping("subjects", ""); s != nil {
		before := len(d.Diags)
		p.Users, p.Groups = decodeSubjects(d, s, "users"), decodeSubjects(d, s, "groups")
		for _, n := range s.FilledList("serviceAccounts") {
			decodeAccountSubject(d, n, p)
		}
		if len(p.Users)+len(p.Groups)+len(p.ServiceAccounts) == 0 && !d.WrongSince(before) {
			d.Warn(s.At, diag.NoSubjects, "name users, groups or serviceAccounts", "subjects is empty: the policy applies to no one")
		}
		s.Done()
	}
	c.Done()
}

// decodeSubjects decodes users or groups, which are literals: any text is valid.
func decodeSubjects(d *syntax.Decoder, c *syntax.Cursor, name string) []syntax.Text {
	var out []syntax.Text
	for _, n := range c.FilledTexts(name) {
		if checkSubject(d, n, name) {
			out = append(out, d.Text(n))
		}
	}
	return out
}

// checkSubject reports an empty name of a subject, and whether the name is valid.
func checkSubject(d *syntax.Decoder, n *syntax.Node, name string) bool {
	if n.Value == "" {
		d.Fail(n, diag.Missing, "leave it out", "an entry \"\" of %s is empty", name)
		return false
	}
	d.Literal(n, name)
	return true
}

func decodeAccountSubject(d *syntax.Decoder, n *syntax.Node, p *MonitorAccessPolicy) {
	c := d.Cursor(n, "an entry of serviceAccounts", false)
	if c == nil {
		return
	}
	account := ServiceAccount{Namespace: "default", At: d.At(n)}
	ok := true
	if namespace := c.Text("namespace"); namespace != nil {
		ok = checkSubject(d, namespace, "namespace of serviceAccounts")
		account.Namespace = namespace.Value
	}
	if name := c.Required("name"); name != nil && name.Value != "" {
		d.Literal(name, "name of serviceAccounts")
		account.Name = name.Value
	}
	c.Done()
	if ok && account.Name != "" {
		p.ServiceAccounts = append(p.ServiceAccounts, account)
	}
}

// decodeAccessEffect decodes the effect of a policy and its validity.
func decodeAccessEffect(d *syntax.Decoder, c *syntax.Cursor, p *MonitorAccessPolicy) {
	if effect := c.Required("effect"); effect != nil && d.CheckOneOf(effect, "effect", "Allow", "Deny") {
		p.Deny = effect.Value == "Deny"
	}
	if enabled, at := c.Boolean("enabled", false); at != nil {
		p.Disabled = !enabled
	}
	c.Done()
}
