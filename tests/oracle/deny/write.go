package deny

import (
	"maps"
	"slices"

	"github.com/writ-policy/writ/tests/oracle"
	"github.com/writ-policy/writ/tests/oracle/random"
	"github.com/writ-policy/writ/tests/oracle/yaml"
)

// Documents writes the policies and escalations.
func (d *Denials) Documents(r random.Source) []yaml.Object {
	g := &generator{r, d}
	var documents []yaml.Object
	for _, p := range d.DenyPolicies {
		documents = append(documents, g.denyPolicy(p))
	}
	for _, e := range d.Escalations {
		documents = append(documents, g.escalation(e))
	}
	for _, cluster := range slices.Sorted(maps.Keys(d.Tenants)) {
		documents = append(documents, yaml.Object{
			{"apiVersion", Version}, {"kind", "ClusterConfig"}, {"metadata", yaml.Object{{"name", cluster}, {"namespace", "breakglass"}}},
			{"spec", yaml.Object{{"tenant", d.Tenants[cluster]}, {"kubeconfigSecretRef", yaml.Object{{"name", "k"}}}}},
		})
	}
	for _, s := range d.Sessions {
		documents = append(documents, g.session(s))
	}
	for _, s := range d.Debug {
		documents = append(documents, g.debugSession(s))
	}
	return documents
}

func (g *generator) denyHeader(kind, namespace, name string, dates oracle.Dates, spec yaml.Object) yaml.Object {
	metadata := yaml.Object{{"name", name}}
	if annotations := yaml.Annotations(dates.NotBefore, dates.NotAfter); annotations != nil {
		metadata = append(metadata, yaml.Member{"annotations", annotations})
	}
	if namespace != "" {
		metadata = append(metadata, yaml.Member{"namespace", namespace})
	}
	if g.Once(4) {
		metadata = append(metadata, yaml.Member{"labels", yaml.Object{{"a", "b"}}})
	}
	g.Shuffle(len(spec), func(i, j int) { spec[i], spec[j] = spec[j], spec[i] })
	document := yaml.Object{{"apiVersion", Version}, {"kind", kind}, {"metadata", metadata}, {"spec", spec}}
	if g.Once(6) {
		document = append(document, yaml.Member{"status", yaml.Object{{"conditions", yaml.List{}}}})
	}
	return document
}

func (g *generator) denyPolicy(p *Policy) yaml.Object {
	var spec, scope yaml.Object
	if p.Precedence != nil {
		spec = append(spec, yaml.Member{"precedence", *p.Precedence})
	}
	scope = g.optional(scope, "clusters", p.Clusters)
	scope = g.optional(scope, "tenants", p.Tenants)
	scope = g.optional(scope, "sessions", p.Sessions)
	scope = g.optional(scope, "escalationRefs", p.EscalationRefs)
	if scope != nil || g.Once(6) {
		spec = append(spec, yaml.Member{"appliesTo", scope})
	}
	rules := yaml.List{}
	for _, rule := range p.Rules {
		rules = append(rules, yaml.Mark(g.denyRuleBody(rule), &rule.Source))
	}
	if len(rules) > 0 || g.Once(3) {
		spec = append(spec, yaml.Member{"rules", rules})
	}
	impersonation := yaml.List{}
	for _, rule := range p.Impersonation {
		impersonation = append(impersonation, yaml.Mark(g.impersonationBody(rule), &rule.Source))
	}
	if len(impersonation) > 0 || g.Once(8) {
		spec = append(spec, yaml.Member{"impersonationRules", impersonation})
	}
	if p.PodSecurity != nil {
		spec = append(spec, yaml.Member{"podSecurityRules", yaml.Mark(g.podRulesBody(p.PodSecurity), &p.PodSecurity.Source)})
	} else if g.Once(8) {
		spec = append(spec, yaml.Member{"podSecurityRules", nil})
	}
	namespace := ""
	if g.Once(8) {
		namespace = "anywhere" // it means nothing
	}
	return g.denyHeader("DenyPolicy", namespace, p.Name, p.Dates, spec)
}

func (g *generator) denyRuleBody(rule *Rule) yaml.Object {
	body := yaml.Object{{"verbs", yaml.Texts(rule.Verbs)}, {"apiGroups", yaml.Texts(rule.APIGroups)}, {"resources", yaml.Texts(rule.Resources)}}
	body = g.optional(body, "subresources", rule.Subresources)
	body = g.optional(body, "resourceNames", rule.ResourceNames)
	body = g.filterBody(body, "namespaces", rule.Namespaces)
	g.Shuffle(len(body), func(i, j int) { body[i], body[j] = body[j], body[i] })
	return body
}

func (g *generator) impersonationBody(rule *ImpersonationRule) yaml.Object {
	body := g.optional(yaml.Object{}, "modes", rule.Modes)
	body = g.optional(body, "identityResources", rule.IdentityResources)
	body = g.optional(body, "identities", rule.Identities)
	body = g.optional(body, "extraKeys", rule.ExtraKeys)
	body = g.filterBody(body, "namespaces", rule.Namespaces)
	body = g.optional(body, "actionVerbs", rule.ActionVerbs)
	body = g.optional(body, "targetResources", rule.TargetResources)
	body = g.optional(body, "targetAPIGroups", rule.TargetAPIGroups)
	if rule.Reason != "" || g.Once(8) {
		body = append(body, yaml.Member{"reason", rule.Reason})
	}
	g.Shuffle(len(body), func(i, j int) { body[i], body[j] = body[j], body[i] })
	return body
}

// optional adds a list; an empty one in one of the ways that documents have.
func (g *generator) optional(body yaml.Object, key string, values []string) yaml.Object {
	switch {
	case len(values) > 0:
		return append(body, yaml.Member{key, yaml.Texts(values)})
	case g.Once(8):
		return append(body, yaml.Member{key, nil})
	case g.Once(8):
		return append(body, yaml.Member{key, yaml.List{}})
	}
	return body
}

// filterBody adds a namespace filter in either spelling.
func (g *generator) filterBody(body yaml.Object, key string, f Filter) yaml.Object {
	if f.empty() {
		if g.Once(4) {
			return append(body, yaml.Member{key, yaml.Object{}})
		}
		return g.optional(body, key, nil)
	}
	if len(f.Terms) == 0 && g.Once(2) {
		return append(body, yaml.Member{key, yaml.Texts(f.Patterns)})
	}
	written := g.optional(yaml.Object{}, "patterns", f.Patterns)
	terms := yaml.List{}
	for _, term := range f.Terms {
		terms = append(terms, term.Body())
	}
	if len(terms) > 0 {
		written = append(written, yaml.Member{"selectorTerms", terms})
	}
	return append(body, yaml.Member{key, written})
}

func (g *generator) podRulesBody(s *PodRules) yaml.Object {
	factors := numbers(s.Weights)
	if len(s.Capabilities) > 0 || g.Once(6) {
		factors = append(factors, yaml.Member{"capabilities", numbers(s.Capabilities)})
	}
	thresholds := yaml.List{}
	for _, t := range s.Thresholds {
		body := yaml.Object{{"maxScore", t.MaxScore}, {"action", t.Action}}
		if t.Reason != "" {
			body = append(body, yaml.Member{"reason", t.Reason})
		}
		thresholds = append(thresholds, body)
	}
	body := yaml.Object{{"riskFactors", factors}, {"thresholds", thresholds}}
	if len(s.Subresources) > 0 || g.Once(6) {
		body = append(body, yaml.Member{"appliesTo", g.optional(yaml.Object{}, "subresources", s.Subresources)})
	}
	body = g.optional(body, "blockFactors", s.BlockFactors)
	var exemptions yaml.Object
	exemptions = g.filterBody(exemptions, "namespaces", s.ExemptNamespaces)
	if len(s.ExemptLabels) > 0 {
		labels := yaml.Object{}
		for _, key := range slices.Sorted(maps.Keys(s.ExemptLabels)) {
			labels = append(labels, yaml.Member{key, s.ExemptLabels[key]})
		}
		exemptions = append(exemptions, yaml.Member{"podLabels", labels})
	}
	if exemptions != nil || g.Once(6) {
		body = append(body, yaml.Member{"exemptions", exemptions})
	}
	if s.FailMode != "" {
		body = append(body, yaml.Member{"failMode", s.FailMode})
	}
	g.Shuffle(len(body), func(i, j int) { body[i], body[j] = body[j], body[i] })
	return body
}

func numbers(values map[string]int) yaml.Object {
	body := yaml.Object{}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		body = append(body, yaml.Member{key, values[key]})
	}
	return body
}

func (g *generator) escalation(e *Escalation) yaml.Object {
	allowed := g.optional(yaml.Object{}, "clusters", e.Clusters)
	allowed = g.optional(allowed, "groups", e.Groups)
	approvers := yaml.Object{{"groups", yaml.List{"security"}}}
	if g.Once(2) {
		approvers = yaml.Object{{"users", yaml.List{"sam"}}, {"hiddenFromUI", yaml.List{"sam"}}}
	}
	spec := yaml.Object{{"escalatedGroup", "cluster-admin"}, {"allowed", allowed}, {"approvers", approvers}}
	spec = g.optional(spec, "clusterConfigRefs", e.ClusterConfigRefs)
	spec = g.optional(spec, "denyPolicyRefs", e.DenyPolicyRefs)
	if e.Overrides != nil {
		spec = append(spec, yaml.Member{"podSecurityOverrides", g.overridesBody(e.Overrides)})
	}
	if g.Once(4) {
		spec = append(spec, yaml.Member{"maxValidFor", "1h"}, yaml.Member{"requestReason", yaml.Object{{"mandatory", true}, {"description", "why"}}},
			yaml.Member{"blockSelfApproval", true})
	}
	return g.denyHeader("BreakglassEscalation", e.Namespace, e.Name, oracle.Dates{}, spec)
}

func (g *generator) overridesBody(o *Overrides) yaml.Object {
	var body yaml.Object
	if o.Enabled || g.Once(2) {
		body = append(body, yaml.Member{"enabled", o.Enabled})
	}
	if o.RequireApproval || g.Once(4) {
		body = append(body, yaml.Member{"requireApproval", o.RequireApproval})
	}
	if o.MaxAllowedScore != nil {
		body = append(body, yaml.Member{"maxAllowedScore", *o.MaxAllowedScore})
	}
	body = g.optional(body, "exemptFactors", o.ExemptFactors)
	return g.filterBody(body, "namespaceScope", o.NamespaceScope)
}
