package deny

import (
	_ "embed"
	"fmt"
	"slices"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

//go:embed fields.txt
var fieldTexts string

const (
	group   = tables.BreakglassGroup
	version = tables.BreakglassVersion
)

// kinds are the kinds of deny policies and of the escalations that refer to them, and the
// kinds of the group that hold no policy.
var kinds = slices.Concat(
	syntax.KindsOf(version, decodeDenyPolicyFamily, kindDenyPolicy, kindEscalation).
		WithDates(kindDenyPolicy).WithWords("breakglass").WithTexts(fieldTexts),
	syntax.SkippedKinds(group, "DebugSessionTemplate", "DebugPodTemplate",
		"DebugSessionClusterBinding", "MailProvider", "AuditConfig"),
)

const (
	kindDenyPolicy = "DenyPolicy"
	kindEscalation = "BreakglassEscalation"
)

// defaultPrecedence is that of a policy which says none.
const defaultPrecedence = 100

// decodeDenyPolicyFamily decodes a document of breakglass.t-caas.telekom.com/v1alpha1.
func decodeDenyPolicyFamily(d *syntax.Decoder, n *syntax.Node, kind *syntax.Field) {
	h, c := d.Begin(n, kind, family, version, "status")
	status := c.Value("status")
	identified, period := decodeDenyPolicyMetadata(d, c, &h)
	spec := c.RequiredMapping("spec", "")
	var out syntax.Document
	if h.Kind == kindDenyPolicy {
		p := &DenyPolicy{Header: h, Precedence: defaultPrecedence, Dates: period}
		decodeDenyPolicy(d, spec, p)
		out = p
	} else {
		e := &BreakglassEscalation{Header: h}
		if h.Object {
			e.Ready = readyIn(status)
		}
		decodeEscalation(d, spec, e)
		out = e
	}
	if identified {
		d.Out = append(d.Out, out)
	}
	spec.Done()
	c.Done()
}

// decodeDenyPolicyMetadata reads metadata and reports whether it identifies the
// document, which a namespace does not.
func decodeDenyPolicyMetadata(d *syntax.Decoder, c *syntax.Cursor, h *syntax.Header) (identified bool, period syntax.Dates) {
	m := c.RequiredMapping("metadata", "write metadata: {name: NAME}")
	if m == nil {
		return false, period
	}
	m.Skip(syntax.ServerFields...)
	m.Skip("generateName", "annotations", "deletionTimestamp", "deletionGracePeriodSeconds")
	if h.Kind == kindDenyPolicy {
		period = d.AnnotatedDates(m, nil, "denies")
	}
	identified = d.CustomNameInto(m, h)
	h.Given = new(syntax.Given)
	h.Given.UID = m.Value("uid").Text()
	m.Labels("labels")
	if n := m.Text("namespace"); n != nil && n.Value != "" {
		h.Given.In = n.Value
		if h.Kind == kindDenyPolicy {
			d.Warn(n, diag.NamespaceIgnored, "leave it out; rules say their namespaces themselves",
				"namespace %s means nothing: a DenyPolicy holds in all of them", syntax.Quote(n.Value))
		} else {
			d.CheckNamespace(n)
		}
	}
	m.Done()
	return identified, period
}

// decodeDenyPolicy decodes the spec of a DenyPolicy.
func decodeDenyPolicy(d *syntax.Decoder, c *syntax.Cursor, p *DenyPolicy) {
	if c == nil {
		return
	}
	if precedence, at := c.Integer("precedence", 0, syntax.MaxInteger); at != nil {
		p.Precedence = precedence
	}
	decodeAppliesTo(d, c.Mapping("appliesTo"), p)
	rules, rulesAt := c.List("rules")
	for _, n := range rules {
		p.Rules = append(p.Rules, decodeDenyRule(d, n))
	}
	impersonation, impersonationAt := c.List("impersonationRules")
	for _, n := range impersonation {
		p.Impersonation = append(p.Impersonation, decodeImpersonationRule(d, n))
	}
	if pod := c.Mapping("podSecurityRules"); pod != nil {
		p.Pod = decodePodSecurity(d, pod)
	}
	if c.Value("podSecurityRules") == nil && len(rules)+len(impersonation) == 0 {
		checkDeniesNothing(c, rulesAt, impersonationAt)
	}
}

// checkDeniesNothing reports a policy that denies nothing, unless a list of rules could
// not be read, which is reported.
func checkDeniesNothing(c *syntax.Cursor, rules, impersonation *syntax.Node) {
	const hint = "a policy denies by rules, impersonationRules or podSecurityRules"
	switch {
	case rules != nil:
		c.Fail(c.Field("rules").Key, diag.Missing, hint, "rules of spec is empty, and impersonationRules and podSecurityRules are absent")
	case impersonation != nil:
		c.Fail(c.Field("impersonationRules").Key, diag.Missing, hint, "impersonationRules of spec is empty, and rules and podSecurityRules are absent")
	case c.Value("rules") == nil && c.Value("impersonationRules") == nil:
		c.Fail(c.At, diag.Missing, hint, "spec has none of rules, impersonationRules and podSecurityRules")
	}
}

// decodeAppliesTo decodes where a policy is in scope: everywhere without it.
func decodeAppliesTo(d *syntax.Decoder, c *syntax.Cursor, p *DenyPolicy) {
	for i := range p.AppliesTo {
		name := tables.ScopeAttributes[i].List
		items, _ := c.Texts(name)
		p.AppliesTo[i] = decodeGlobs(d, items, name)
		for j := range items {
			if i == tables.ScopeEscalation {
				p.EscalationRefs = append(p.EscalationRefs, EscalationRef{d.Text(items[j]), p.AppliesTo[i][j]})
			}
		}
	}
	c.Done()
}

// maxGlob is how many bytes a glob may have, as a name in Kubernetes. The time of matching
// grows with it.
const maxGlob = 253

// decodeGlobList decodes an optional list of globs.
func decodeGlobList(d *syntax.Decoder, c *syntax.Cursor, name string) []tables.PathGlob {
	items, _ := c.Texts(name)
	return decodeGlobs(d, items, name)
}

// decodeGlobs parses the entries of a list of globs. The glob of an entry that is
// reported is the zero value.
func decodeGlobs(d *syntax.Decoder, items []*syntax.Node, name string) []tables.PathGlob {
	var globs []tables.PathGlob
	for _, n := range items {
		glob, problem, hint := tables.ParsePathGlob(n.Value)
		if problem == "" && len(n.Value) > maxGlob {
			problem, hint = fmt.Sprintf("has %d bytes: must have at most %d", len(n.Value), maxGlob), ""
		}
		if problem != "" {
			d.Fail(n, diag.BadPattern, hint, "glob %s of %s %s", syntax.Quote(n.Value), name, problem)
		}
		globs = append(globs, glob)
	}
	return globs
}

// decodeDenyRule decodes one of rules.
func decodeDenyRule(d *syntax.Decoder, n *syntax.Node) DenyRule {
	r := DenyRule{At: d.At(n)}
	c := d.Cursor(n, "a rule", false)
	if c == nil {
		return r
	}
	c.Hints = map[string]string{
		"resourcekinds": "write resources", "nonresourceurls": "rules are about resources only",
		"namespace": "write namespaces: [NAMESPACE]",
	}
	before := len(d.Diags)
	verbs, _ := c.RequiredTexts("verbs")
	groups, _ := c.RequiredTexts("apiGroups")
	resources, _ := c.RequiredTexts("resources")
	subresources, _ := c.Texts("subresources")
	checkWords(d, verbs, "verbs", word)
	checkWords(d, groups, "apiGroups", anyWord)
	checkWords(d, resources, "resources", resourceWord)
	checkWords(d, subresources, "subresources", anyWord)
	if !hasErrors(d, before) {
		warnOfSlips(d, verbs, groups, resources, subresources)
	}
	r.Verbs, r.APIGroups = syntax.Values(verbs), syntax.Values(groups)
	r.Resources, r.Subresources = syntax.Values(resources), syntax.Values(subresources)
	r.Namespaces = decodeNamespaces(d, c, "namespaces", decodeGlobs)
	r.ResourceNames = decodeGlobList(d, c, "resourceNames")
	checkNeverNamed(d, c, &r)
	c.Done()
	return r
}
