package conformance

import (
	"github.com/writ-policy/writ/tests/oracle/deny"
)

func denyPolicy(spec node, name string) *deny.Policy {
	scope := spec.object("appliesTo")
	p := &deny.Policy{
		Name: name, Precedence: spec.integer("precedence"),
		Clusters: scope.texts("clusters"), Tenants: scope.texts("tenants"),
		Sessions: scope.texts("sessions"), EscalationRefs: scope.texts("escalationRefs"),
	}
	for _, item := range spec.list("rules") {
		rule := node(item.(map[string]any))
		p.Rules = append(p.Rules, &deny.Rule{
			Verbs: rule.texts("verbs"), APIGroups: rule.texts("apiGroups"), Resources: rule.texts("resources"),
			Subresources: rule.texts("subresources"), ResourceNames: rule.texts("resourceNames"), Namespaces: rule.filter("namespaces"),
		})
	}
	for _, item := range spec.list("impersonationRules") {
		rule := node(item.(map[string]any))
		p.Impersonation = append(p.Impersonation, &deny.ImpersonationRule{
			Modes: rule.texts("modes"), IdentityResources: rule.texts("identityResources"), Identities: rule.texts("identities"),
			ExtraKeys: rule.texts("extraKeys"), Namespaces: rule.filter("namespaces"), ActionVerbs: rule.texts("actionVerbs"),
			TargetResources: rule.texts("targetResources"), TargetAPIGroups: rule.texts("targetAPIGroups"), Reason: rule.text("reason", ""),
		})
	}
	if rules := spec.object("podSecurityRules"); rules != nil {
		p.PodSecurity = podRules(rules)
	}
	return p
}

func podRules(rules node) *deny.PodRules {
	exemptions := rules.object("exemptions")
	s := &deny.PodRules{
		Subresources: rules.object("appliesTo").texts("subresources"),
		Weights:      map[string]int{}, Capabilities: map[string]int{}, BlockFactors: rules.texts("blockFactors"),
		ExemptNamespaces: exemptions.filter("namespaces"), ExemptLabels: map[string]string{}, FailMode: rules.text("failMode", ""),
	}
	factors := rules.object("riskFactors")
	for key := range factors {
		if weight := factors.integer(key); weight != nil {
			s.Weights[key] = *weight
		}
	}
	capabilities := factors.object("capabilities")
	for key := range capabilities {
		s.Capabilities[key] = *capabilities.integer(key)
	}
	for key, value := range exemptions.object("podLabels") {
		s.ExemptLabels[key] = value.(string)
	}
	for _, item := range rules.list("thresholds") {
		threshold := node(item.(map[string]any))
		s.Thresholds = append(s.Thresholds, deny.Threshold{
			MaxScore: *threshold.integer("maxScore"), Action: threshold.text("action", ""), Reason: threshold.text("reason", ""),
		})
	}
	return s
}

func escalation(spec node, namespace, name string) *deny.Escalation {
	allowed := spec.object("allowed")
	e := &deny.Escalation{
		Namespace: namespace, Name: name, Clusters: allowed.texts("clusters"), Groups: allowed.texts("groups"),
		ClusterConfigRefs: spec.texts("clusterConfigRefs"), DenyPolicyRefs: spec.texts("denyPolicyRefs"),
	}
	if o := spec.object("podSecurityOverrides"); o != nil {
		e.Overrides = &deny.Overrides{
			Enabled: o.get("enabled") == true, RequireApproval: o.get("requireApproval") == true,
			MaxAllowedScore: o.integer("maxAllowedScore"), ExemptFactors: o.texts("exemptFactors"), NamespaceScope: o.filter("namespaceScope"),
		}
	}
	return e
}

// filter reads both spellings of a namespace filter.
func (n node) filter(key string) deny.Filter {
	if _, plain := n.get(key).([]any); plain {
		return deny.Filter{Patterns: n.texts(key)}
	}
	written := n.object(key)
	f := deny.Filter{Patterns: written.texts("patterns")}
	for _, item := range written.list("selectorTerms") {
		f.Terms = append(f.Terms, selector(item.(map[string]any)))
	}
	return f
}

func (n node) integer(key string) *int {
	value, ok := n.get(key).(int)
	if !ok {
		return nil
	}
	return &value
}
