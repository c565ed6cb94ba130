package oracle

import (
	"maps"
	"slices"
)

func (g *generator) denyDocuments() []object {
	var documents []object
	for _, p := range g.world.DenyPolicies {
		documents = append(documents, g.denyPolicy(p))
	}
	for _, e := range g.world.Escalations {
		documents = append(documents, g.escalation(e))
	}
	return documents
}

func (g *generator) denyHeader(kind, namespace, name string, spec object) object {
	metadata := object{{"name", name}}
	if namespace != "" {
		metadata = append(metadata, member{"namespace", namespace})
	}
	if g.once(4) {
		metadata = append(metadata, member{"labels", object{{"a", "b"}}})
	}
	g.Shuffle(len(spec), func(i, j int) { spec[i], spec[j] = spec[j], spec[i] })
	document := object{{"apiVersion", DenyVersion}, {"kind", kind}, {"metadata", metadata}, {"spec", spec}}
	if g.once(6) {
		document = append(document, member{"status", object{{"conditions", list{}}}})
	}
	return document
}

func (g *generator) denyPolicy(p *DenyPolicy) object {
	var spec, scope object
	if p.Precedence != nil {
		spec = append(spec, member{"precedence", *p.Precedence})
	}
	scope = g.optional(scope, "clusters", p.Clusters)
	scope = g.optional(scope, "tenants", p.Tenants)
	scope = g.optional(scope, "sessions", p.Sessions)
	scope = g.optional(scope, "escalationRefs", p.EscalationRefs)
	if scope != nil || g.once(6) {
		spec = append(spec, member{"appliesTo", scope})
	}
	rules := list{}
	for _, rule := range p.Rules {
		rules = append(rules, marked{g.denyRuleBody(rule), &rule.Source})
	}
	if len(rules) > 0 || g.once(3) {
		spec = append(spec, member{"rules", rules})
	}
	if p.PodSecurity != nil {
		spec = append(spec, member{"podSecurityRules", marked{g.podRulesBody(p.PodSecurity), &p.PodSecurity.Source}})
	} else if g.once(8) {
		spec = append(spec, member{"podSecurityRules", nil})
	}
	namespace := ""
	if g.once(8) {
		namespace = "anywhere" // it means nothing
	}
	return g.denyHeader("DenyPolicy", namespace, p.Name, spec)
}

func (g *generator) denyRuleBody(rule *DenyRule) object {
	body := object{{"verbs", texts(rule.Verbs)}, {"apiGroups", texts(rule.APIGroups)}, {"resources", texts(rule.Resources)}}
	body = g.optional(body, "subresources", rule.Subresources)
	body = g.optional(body, "resourceNames", rule.ResourceNames)
	body = g.filterBody(body, "namespaces", rule.Namespaces)
	g.Shuffle(len(body), func(i, j int) { body[i], body[j] = body[j], body[i] })
	return body
}

// optional adds a list, or one of the ways to say that there is none.
func (g *generator) optional(body object, key string, values []string) object {
	switch {
	case len(values) > 0:
		return append(body, member{key, texts(values)})
	case g.once(8):
		return append(body, member{key, nil})
	case g.once(8):
		return append(body, member{key, list{}})
	}
	return body
}

// filterBody adds a namespace filter in either spelling.
func (g *generator) filterBody(body object, key string, f Filter) object {
	if f.empty() {
		if g.once(4) {
			return append(body, member{key, object{}})
		}
		return g.optional(body, key, nil)
	}
	if len(f.Terms) == 0 && g.once(2) {
		return append(body, member{key, texts(f.Patterns)})
	}
	written := g.optional(object{}, "patterns", f.Patterns)
	terms := list{}
	for _, term := range f.Terms {
		terms = append(terms, g.selector(term))
	}
	if len(terms) > 0 {
		written = append(written, member{"selectorTerms", terms})
	}
	return append(body, member{key, written})
}

func (g *generator) podRulesBody(s *PodRules) object {
	factors := numbers(s.Weights)
	if len(s.Capabilities) > 0 || g.once(6) {
		factors = append(factors, member{"capabilities", numbers(s.Capabilities)})
	}
	thresholds := list{}
	for _, t := range s.Thresholds {
		body := object{{"maxScore", t.MaxScore}, {"action", t.Action}}
		if t.Reason != "" {
			body = append(body, member{"reason", t.Reason})
		}
		thresholds = append(thresholds, body)
	}
	body := object{{"riskFactors", factors}, {"thresholds", thresholds}}
	if len(s.Subresources) > 0 || g.once(6) {
		body = append(body, member{"appliesTo", g.optional(object{}, "subresources", s.Subresources)})
	}
	body = g.optional(body, "blockFactors", s.BlockFactors)
	var exemptions object
	exemptions = g.filterBody(exemptions, "namespaces", s.ExemptNamespaces)
	if len(s.ExemptLabels) > 0 {
		labels := object{}
		for _, key := range slices.Sorted(maps.Keys(s.ExemptLabels)) {
			labels = append(labels, member{key, s.ExemptLabels[key]})
		}
		exemptions = append(exemptions, member{"podLabels", labels})
	}
	if exemptions != nil || g.once(6) {
		body = append(body, member{"exemptions", exemptions})
	}
	if s.FailMode != "" {
		body = append(body, member{"failMode", s.FailMode})
	}
	g.Shuffle(len(body), func(i, j int) { body[i], body[j] = body[j], body[i] })
	return body
}

func numbers(values map[string]int) object {
	body := object{}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		body = append(body, member{key, values[key]})
	}
	return body
}

func (g *generator) escalation(e *Escalation) object {
	allowed := g.optional(object{}, "clusters", e.Clusters)
	allowed = g.optional(allowed, "groups", e.Groups)
	approvers := object{{"groups", list{"security"}}}
	if g.once(2) {
		approvers = object{{"users", list{"sam"}}, {"hiddenFromUI", list{"sam"}}}
	}
	spec := object{{"escalatedGroup", "cluster-admin"}, {"allowed", allowed}, {"approvers", approvers}}
	spec = g.optional(spec, "clusterConfigRefs", e.ClusterConfigRefs)
	spec = g.optional(spec, "denyPolicyRefs", e.DenyPolicyRefs)
	if e.Overrides != nil {
		spec = append(spec, member{"podSecurityOverrides", g.overridesBody(e.Overrides)})
	}
	if g.once(4) {
		spec = append(spec, member{"maxValidFor", "1h"}, member{"requestReason", object{{"mandatory", true}, {"description", "why"}}},
			member{"blockSelfApproval", true})
	}
	return g.denyHeader("BreakglassEscalation", e.Namespace, e.Name, spec)
}

func (g *generator) overridesBody(o *Overrides) object {
	var body object
	if o.Enabled || g.once(2) {
		body = append(body, member{"enabled", o.Enabled})
	}
	if o.RequireApproval || g.once(4) {
		body = append(body, member{"requireApproval", o.RequireApproval})
	}
	if o.MaxAllowedScore != nil {
		body = append(body, member{"maxAllowedScore", *o.MaxAllowedScore})
	}
	body = g.optional(body, "exemptFactors", o.ExemptFactors)
	return g.filterBody(body, "namespaceScope", o.NamespaceScope)
}
